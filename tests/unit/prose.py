"""Rules about words, for debt.py: turns that a newcomer has to decode, and long sentences."""
import re

MAX_WORDS = 25  # a sentence of the public header, the manual page and the documents
TURNS = re.compile(
    r'\b(?:those\s+of|that\s+of|behind|in\s+front\s+of|so\s+many|ha(?:s|ve|d)\s+none'
    r'|what\s(?:(?:the|a|an|its|it|each|they)\s+)?(?:[\w`.-]+\s+){0,2}says?)\b', re.I)
CODE = re.compile(r'``?[^`]+``?')
END = re.compile(r'[.!?]["\')\]]*(?=\s|$)')


def document(text):
    """(line, text) of each paragraph, list item and row of a table, without blocks of code."""
    text = re.sub(r'<!--.*?-->', lambda m: re.sub(r'[^\n]', ' ', m.group(0)), text, flags=re.S)
    found, fenced, open_ = [], False, False
    for number, line in enumerate(text.split('\n'), 1):
        item = re.match(r'\s*(?:[-*+]|\d+\.)\s+', line)
        if line.startswith('```'):
            fenced = not fenced
        apart = fenced or not line.strip() or line.startswith(('```', '#', '|'))
        if apart or (line.startswith('    ') and not item and not open_):
            open_ = False
            if line.startswith(('#', '|')) and not fenced:
                found.append((number, line))
        elif item or not open_:
            open_ = True
            found.append((number, line[item.end():] if item else line))
        else:
            found[-1] = (found[-1][0], found[-1][1] + '\n' + line)
    return found


def manual(text):
    """(line, text) of each paragraph of an mdoc page but its synopsis, without macros."""
    found, open_, shown = [], False, False
    for number, line in enumerate(text.split('\n'), 1):
        macro = re.match(r'\.\s*([A-Z][a-z]\w?)\b ?', line)
        if line.startswith(('.Bd', '.Ed', '.Sh')):
            shown = line.startswith(('.Bd', '.Sh SYNOPSIS'))
        words = line[macro.end():] if macro else line
        if shown or not line or line.startswith(('.\\"', '.Sh', '.Ss', '.Pp', '.It', '.Bl', '.El',
                                                 '.Bd', '.Ed', '.D1', '.Dl')):
            open_ = False
            continue
        words = re.sub(r'\b(?:Fl|Ar|Cm|Nm|Em|Pa|Xr|Sq|Dq|Ql|Li|Ns|No|Op) ', '', words)
        if open_:
            found[-1] = (found[-1][0], found[-1][1] + '\n' + words)
        else:
            open_ = True
            found.append((number, words))
    return found


def comment(line, text):
    """(line, text) of each paragraph of a comment of C: what is indented is an example."""
    found, open_ = [], False
    for number, words in enumerate(re.sub(r'/\*+|\*/|//', '', text).split('\n'), line):
        words = re.sub(r'^\s*\* ?', '', words)
        if not words.strip() or words.startswith('    '):
            open_ = False
        elif open_:
            found[-1] = (found[-1][0], found[-1][1] + '\n' + words)
        else:
            open_ = True
            found.append((number, words))
    return found


def turns(texts):
    """(line, turn) of each phrase of TURNS outside code."""
    found = []
    for line, text in texts:
        text = CODE.sub(lambda m: re.sub(r'[^\n]', '_', m.group(0)), text)
        text = re.sub(r'(?m)^[ \t]*(?:\*|#+|//)', lambda m: ' ' * len(m.group(0)), text)
        found += [(line + text.count('\n', 0, match.start()), ' '.join(match.group(0).split()))
                  for match in TURNS.finditer(text)]
    return found


def long_sentences(texts):
    """(line, words) of each sentence of more than MAX_WORDS words; code counts as one word."""
    found = []
    for line, text in texts:
        if text.startswith(('#', '|')):
            continue
        text = CODE.sub(lambda m: 'code' + '\n' * m.group(0).count('\n'), text)
        start = 0
        for end in [m.end() for m in END.finditer(text)] + [len(text)]:
            words = [w for w in text[start:end].split() if re.search(r'\w', w)]
            if len(words) > MAX_WORDS:
                lead = len(text[start:end]) - len(text[start:end].lstrip())
                at = line + text.count('\n', 0, start + lead)
                found.append((at, '%d words: %s ...' % (len(words), ' '.join(words[:6]))))
            start = end
    return found
