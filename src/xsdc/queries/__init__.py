"""Which questions to ask a person next."""

from xsdc.queries.models import find_situation, suggest, view_of
from xsdc.queries.questions import Kind, Question, choose_questions, group_questions, sheet
from xsdc.queries.situation import Situation
from xsdc.queries.strategies import STRATEGIES, Picks, Strategy, at_random, margin, typical, useful

__all__ = [
    "STRATEGIES",
    "Kind",
    "Picks",
    "Question",
    "Situation",
    "Strategy",
    "at_random",
    "choose_questions",
    "find_situation",
    "group_questions",
    "margin",
    "sheet",
    "suggest",
    "typical",
    "useful",
    "view_of",
]
