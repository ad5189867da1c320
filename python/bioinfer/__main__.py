"""`python -m bioinfer`: the command `bioinfer`."""
from _bioinfer_command import main

main()
