"""Tables of names, categories, numbers and gaps: to bits in groups, and back. No JAX here.

`read_frame` reads a table, `infer_schema` says what its columns are, `Schema.encode` and
`Schema.decode` go to bits and back, and `to_native` gives a frame like the one that came in.
"""

from wakesleep.schema.certainty import with_certainty as with_certainty
from wakesleep.schema.column_conditions import ColumnCondition as ColumnCondition
from wakesleep.schema.column_conditions import Given as Given
from wakesleep.schema.column_conditions import allowed_states as allowed_states
from wakesleep.schema.column_conditions import decode_given as decode_given
from wakesleep.schema.column_conditions import parse_given as parse_given
from wakesleep.schema.column_features import expected_columns as expected_columns
from wakesleep.schema.column_features import expected_names as expected_names
from wakesleep.schema.columns import Column as Column
from wakesleep.schema.columns import ConstantColumn as ConstantColumn
from wakesleep.schema.columns import LeftOutColumn as LeftOutColumn
from wakesleep.schema.encoded import Encoded as Encoded
from wakesleep.schema.encoded import bits_of as bits_of
from wakesleep.schema.encoded import codes_of as codes_of
from wakesleep.schema.frame import Cells as Cells
from wakesleep.schema.frame import Frame as Frame
from wakesleep.schema.frame import object_array as object_array
from wakesleep.schema.independent import IndependentColumns as IndependentColumns
from wakesleep.schema.inference import infer_schema as infer_schema
from wakesleep.schema.latent_classes import LatentClasses as LatentClasses
from wakesleep.schema.latent_classes import Search as Search
from wakesleep.schema.levels import LevelColumn as LevelColumn
from wakesleep.schema.levels import UnseenLevelError as UnseenLevelError
from wakesleep.schema.markers import MARKERS as MARKERS
from wakesleep.schema.numbers import NumberColumn as NumberColumn
from wakesleep.schema.output import impute_missing as impute_missing
from wakesleep.schema.output import to_native as to_native
from wakesleep.schema.output import to_rows as to_rows
from wakesleep.schema.output import write_frame as write_frame
from wakesleep.schema.overrides import as_choices as as_choices
from wakesleep.schema.overrides import load_choices as load_choices
from wakesleep.schema.overrides import parse_choices as parse_choices
from wakesleep.schema.point_estimates import median_shares as median_shares
from wakesleep.schema.point_estimates import most_probable as most_probable
from wakesleep.schema.reading import is_table_file as is_table_file
from wakesleep.schema.reading import read_frame as read_frame
from wakesleep.schema.schema import Schema as Schema
from wakesleep.schema.schema_options import SchemaOptions as SchemaOptions
from wakesleep.schema.schema_options import options_from as options_from
from wakesleep.schema.typed import typed as typed
from wakesleep.schema.units import unit_difference as unit_difference
from wakesleep.schema.unseen import without_unseen as without_unseen
from wakesleep.schema.values import cell_texts as cell_texts
