"""Where the original files are, and what their content must be. A new set is one entry here."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

SPLITS = ("train", "valid", "test")


@dataclass(frozen=True)
class RemoteFile:
    """A file by the SHA-256 of its content (None where nobody has published it) and its places."""

    name: str
    sha256: str | None
    addresses: tuple[str, ...]


@dataclass(frozen=True)
class Source:
    """The files of a data set: one per split, or one with all of them."""

    name: str
    files: Mapping[str, RemoteFile]

    @property
    def single(self) -> bool:
        """Whether one file has all splits."""
        return set(self.files) != set(SPLITS)


def _repository(repository: str, commit: str, path: str) -> tuple[str, ...]:
    """A file of a public repository at a commit, from its two public places."""
    return (
        f"https://raw.githubusercontent.com/{repository}/{commit}/{path}",
        f"https://github.com/{repository}/raw/{commit}/{path}",
    )


def _by_split(
    name: str, digests: tuple[str | None, str | None, str | None], folder: str | None = None
) -> Source:
    """A set of the DEBD collection; `folder` is its name there, if that is another."""
    there = folder or name
    repository, commit = "arranger1044/DEBD", "850908666388f1b1c766a304b37dae14613f1e51"
    files = {}
    for split, digest in zip(SPLITS, digests, strict=True):
        file = f"{there}.{split}.data"
        places = _repository(repository, commit, f"datasets/{there}/{file}")
        files[split] = RemoteFile(file, digest, places)
    return Source(name, MappingProxyType(files))


def _single(name: str, file: RemoteFile) -> Source:
    return Source(name, MappingProxyType({"all": file}))


def _binarized_mnist(digests: tuple[str, str, str]) -> Source:
    place = "www.cs.toronto.edu/~larocheh/public/datasets/binarized_mnist"
    files = {}
    for split, digest in zip(SPLITS, digests, strict=True):
        name = f"binarized_mnist_{split}.amat"
        addresses = (f"https://{place}/{name}", f"http://{place}/{name}")
        files[split] = RemoteFile(name, digest, addresses)
    return Source("binarized_mnist", MappingProxyType(files))


_ALL = (
    _binarized_mnist(
        (
            "ad693b29f94c14277b095f5238ddefbbdaaae0939789dd2f4f0205278cee3e4d",
            "1de3d397c40fe8eeb33dafd4099a1f665ec01e96d9be234aaeeac8a34930e2e2",
            "e6687bfea3f820c174f33b7865140b2a2dd2930ef786f35d45795fc193b5ab2c",
        )
    ),
    _single(
        "caltech101_silhouettes",
        RemoteFile(
            "caltech101_silhouettes_28_split1.mat",
            "eb6735e8d84b1850fabc5590124aab1755e90c9fd28123585324398405e1e42a",
            (
                "https://people.cs.umass.edu/~marlin/data/caltech101_silhouettes_28_split1.mat",
                "http://people.cs.umass.edu/~marlin/data/caltech101_silhouettes_28_split1.mat",
            ),
        ),
    ),
    _by_split(
        "adult",
        (
            "5590ab772dd51ed1b29bb972d2b416a58aee902b88be2f89b8c77f28f3e3db77",
            "dbd7472c04c648e988264b90b76dc086294958ef4b395ee916090b2b82146e59",
            "169b5ea932df510bd09dd199013c897aef9a1b5325688380697c85494d7bb14f",
        ),
    ),
    _by_split(
        "connect4",
        (
            "1cf1f300a290a33e15f8989364dd7e87c008699c3627e05cc70a5f2dd01cafd8",
            "e4657afaf1b6880aed84b64e348d2d502b32d90ad3177bea730dd5e0384fd3b8",
            None,
        ),
    ),
    _single(
        "dna",
        # DEBD has dna too, but split 1600 / 400, which is not the paper's.
        RemoteFile(
            "dna.npz",
            "df2d2e7ce1469edfead15e41024e108d64f1b4633cfecfc40ef7107cc22c895c",
            _repository(
                "mgermain/MADE", "514849eb9451311c02049f9e2d9a17fac589996a", "datasets/dna.npz"
            ),
        ),
    ),
    _by_split(
        "mushrooms",
        (
            "465c712c066bbbee3ccceded24bbe42b4c379df67b524e28cce9bf3a8b83f27b",
            "5a067e6854df71623415e6adc8e913cbff766637a324788882ba800907aa5385",
            "313c5f04b5d0a18bee2f2ffa264be265d09f5362aad6f714637acd9552f81aa0",
        ),
    ),
    _by_split(
        "nips",
        (
            "4d744cb1f2c725405bff6ef6878df06eafbbc2a91f0510e0f3d8a508b05ec7bb",
            "b06acd8e6a701d63d4e58b5076c11c59bcd0343fb9b1fbb5997459d3e6b8ca96",
            "48711bdaffbd43aa439679785e19d9cc80c64a157fa84eadc5dce60ee4edf7bc",
        ),
    ),
    _by_split(
        "ocr_letters",
        (
            "cf14ab30626ce194ca08a03359e81dfd4e3a649706be2f7f0676efcfa64ee622",
            "b28ca9c39bb94fc3b0aeb3197304547bb066daaad0a1cce3da9749d068b74133",
            "63c77682a932c5e5e04a429aba8dc7db5f942a87d549a8228fa144ec5ae998fb",
        ),
    ),
    _by_split(
        "nltcs",
        (
            "e547a7aedad1dd2f7177030881ab1b92c7e24ae5464c71a0f1f89daecaf52b30",
            "93bbbf5c6febdc9bc6e5b5bfab636f4dc0685ab2896d24b23dd267794c3bfcf6",
            "f9ffa6b74b27dc03bee3203d157ee31079e80b13be40d0c0093d635c25aed523",
        ),
    ),
    _by_split(
        "plants",
        (
            "1fb1219ff94068d12a563f9e81f8889a1885f41e867884cff608669300c6848f",
            "47834ed318b2d74f48e4b083226ef47fd446d41986012ceae19d230574821b34",
            "95f53c033cd1d86467aec2610dc5bfe014534206c2da4919f73bcab246ab8755",
        ),
    ),
    _by_split(
        "baudio",
        (
            "b1ec73f4aa9d4ce48b465ded865cc3d22b3f68cf6258f9e15fbef8902138add1",
            "7164d8a4943f74953f0e982002d84693fdf483e17f69e7407dc939c5ce5622fe",
            "1474f3206f1f35e099803a0f40b0cd209bdc8d787825095ef6cb23fd87ed0d05",
        ),
    ),
    _by_split(
        "bnetflix",
        (
            "73c87cf0635ec734cc0726a5c644b904ff33e81ea51f1049db0e77b787ebad7c",
            "7f0a3e597c6f305f707f9ecd2b2aa523c576cdb17fdc5d902fc832ebea5163de",
            "af73990782fd2f146d96059855c4f3bbb6a7a7caefc417ff620a3ed1415a2395",
        ),
    ),
    _by_split(
        "pumsb_star",
        (
            "27e610b5f9f507f94ebf8a227f8b96cc59d7eed51e06ee5d2fe8353afbc1524c",
            "6a491d1ea64eb0249dddd168fdddeef88aa21001a933eb7309603b6466187af8",
            "b2da195314ac17f9d8d171743c5f98a28ea9583332a52d34aa228ff2e11aa8e7",
        ),
    ),
    _by_split(
        "bbc",
        (
            "a6f0ba467ebf502ba3b37caa1f20e43ff82664dcd580be92010106cf80fb0db1",
            "f6a37bd58cdb6745725628be19dfd3b9b795082faa8ca771b8f27dbf4a5ff46d",
            "7116fce92a1f3d610cee673a974c8c9895957ee07ce6f086b431ee296aa7734a",
        ),
    ),
    _by_split(
        "moviereview",
        (
            "195729f0d72e9707abb7a901b57193bd1b1c9108bb261202170eec6c7e5e2ed1",
            "d887c7726485ca46026c3c9ab511174679cd1c96443c5410ab24fb81c8be38e3",
            "9fea48ab7422d4a1c0b5d063311e6fd3104e59c11018276f7a9e909685a856d2",
        ),
    ),
    _by_split("dna_debd", (None, None, None), folder="dna"),
    _single(
        "rcv1",
        RemoteFile(
            "rcv1.npz",
            None,
            ("https://github.com/mgermain/MADE/releases/download/ICML2015/rcv1.npz",),
        ),
    ),
)

SOURCES: Mapping[str, Source] = MappingProxyType({source.name: source for source in _ALL})
"""What `wakesleep data fetch` knows."""
