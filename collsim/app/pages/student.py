"""A student's side of a class, in the registry of pages: reached by its address only."""

from ..classroom import student_page
from ..shell.page import register_page

register_page("class", 90, address=student_page.ADDRESS, listed=False)(student_page.draw)
