"""Every estimator as a function of K, for the tests that run them all at one machine."""

from wakesleep.estimators import (
    JSA,
    NVIL,
    OVIS,
    RLOO,
    TVO,
    VIMCO,
    DisARM,
    Refined,
    Reweighted,
    WakeSleep,
)

CASES = {
    "reweighted (wake-q)": lambda k: Reweighted(samples=k, sleep_q=0),
    "reweighted (both)": lambda k: Reweighted(samples=k, dreams=k),
    "reweighted (as drawn)": lambda k: Reweighted(samples=k, sleep_q=0, combine=False),
    "refined (wake-q)": lambda k: Refined(samples=k, moves=3, sleep_q=0),
    "wake_sleep": lambda k: WakeSleep(samples=k, dreams=k),
    "nvil": lambda k: NVIL(samples=k, baseline_rate=0.01),
    "rloo": lambda k: RLOO(samples=k),
    "disarm": lambda k: DisARM(samples=k),
    "vimco": lambda k: VIMCO(samples=k),
    "vimco (arithmetic)": lambda k: VIMCO(samples=k, baseline="arithmetic"),
    "ovis (γ = 0)": lambda k: OVIS(samples=k, gamma=0),
    "ovis (γ = 1)": lambda k: OVIS(samples=k, gamma=1),
    "tvo": lambda k: TVO(samples=k),
    "jsa": lambda k: JSA(samples=k),
}
