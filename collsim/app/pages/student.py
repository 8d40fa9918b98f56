"""A student's side of a class, in the registry of pages: reached by its address only."""

from ..classroom import student
from ..shell.page import page

page("class", 90, address=student.ADDRESS, listed=False)(student.draw)
