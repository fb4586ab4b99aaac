# What type checkers and editors read: everything is loaded when it is first used.
from typing import Any

from schedsearch.analysis import accesses as accesses
from schedsearch.analysis import certain as certain
from schedsearch.analysis import walkers as walkers
from schedsearch.core import ast as ast
from schedsearch.core.records import Target as Target
from schedsearch.core.trace import ArgValue as ArgValue
from schedsearch.core.trace import Rewrite as Rewrite
from schedsearch.core.trace import Trace as Trace
from schedsearch.search.strategies.make import make_strategy as make_strategy
from schedsearch.search.strategies.make import strategy_name as strategy_name
from schedsearch.search.strategies.protocol import Node as Node
from schedsearch.search.strategies.protocol import Strategy as Strategy
from schedsearch.transforms.exo.mirror import mirror as mirror
from schedsearch.transforms.operators.cursors import Cursors as Cursors
from schedsearch.transforms.operators.ops import After as After
from schedsearch.transforms.operators.ops import Args as Args
from schedsearch.transforms.operators.ops import At as At
from schedsearch.transforms.operators.ops import Condition as Condition
from schedsearch.transforms.operators.ops import Index as Index
from schedsearch.transforms.operators.ops import Instruction as Instruction
from schedsearch.transforms.operators.ops import Memory as Memory
from schedsearch.transforms.operators.ops import Op as Op
from schedsearch.transforms.operators.ops import Pair as Pair
from schedsearch.transforms.operators.ops import Part as Part
from schedsearch.transforms.operators.ops import Parts as Parts
from schedsearch.transforms.operators.ops import Proposal as Proposal
from schedsearch.transforms.operators.ops import Span as Span
from schedsearch.transforms.operators.ops import Steps as Steps
from schedsearch.transforms.operators.ops import Vector as Vector
from schedsearch.transforms.own import register as register
from schedsearch.transforms.registry import Transform as Transform

def __getattr__(name: str) -> Any: ...  # VEC_F32X16 and the like
