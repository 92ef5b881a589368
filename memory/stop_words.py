"""Words that carry no content in a question: English, Chinese, Japanese and Korean."""

import re

ENGLISH = frozenset(
    """
    a about after again against all also am an and any anyone anything are aren't as at be because been before being
    between both but by can can't could couldn't did didn't do does doesn't doing don't down during each either else
    ever every few for from further get gets getting give given go goes going gone got had hadn't has hasn't have
    haven't having he her here hers him his how i i'd i'll i'm i've if in into is isn't it it's its itself just know
    let let's likely many may me might more most much must my myself no nor not of off on once one only or other our
    ours out over own please same shall she should so some someone something still such tell than that that's the
    their theirs them then there these they this those though through to too under until up upon us very was wasn't
    we we're were weren't what what's when where whether which while who who's whom whose why will with won't would
    wouldn't yes yet you your yours
    """.split()  # noqa: SIM905 - a list to read, not code
)

# Single characters only where they are hardly ever part of a word.
CHINESE = tuple(
    """
    为什么 什么时候 是什么 什么 怎么样 怎么办 怎么 怎样 如何 哪个 哪些 哪里 哪儿 多少 何时 是否 有没有 是不是
    能不能 可不可以 我们 你们 他们 它们 咱们 这个 那个 这些 那些 这里 那里 因为 所以 但是 而且 以及 或者 还是
    已经 曾经 之前 之后 以前 以后 上次 当时 最后 关于 对于 由于 没有 可以 应该 需要 请问 告诉 一下 一个 的 了
    吗 呢 吧 啊 是 我 你 他 它 这 那 把 被 就 都 也 谁 和 与 在 来 得
    """.split()  # noqa: SIM905 - a list to read, not code
)

JAPANESE = tuple(
    """
    どうして どのように どうやって どうすれば どうした どう なぜ いつ どこ どれ どの どんな なに 何故 何が
    何を 何で 何の 何は 何か 誰が 誰の 誰 でしょうか でしたか ましたか ませんか ますか ですか でしょう でした
    ました ません ましょう します しました しますか しましたか するか するの された される している していた
    して した する です ます ので のに から まで より など だけ しか ても では には とは のは のが のを という
    といった について において この その あの これ それ あれ ここ そこ ある いる あった いた なった なる こと
    もの ため は が を に の と で も へ や か ね よ
    """.split()  # noqa: SIM905 - a list to read, not code
)

KOREAN = frozenset(
    """
    왜 어떻게 무엇 무엇을 무엇이 무엇인가요 무슨 뭐 뭘 뭐가 언제 어디 어디에 어디서 어디에서 누가 누구 어느
    어떤 얼마나 우리 우리는 우리가 저는 나는 내가 그 이 저 그것 이것 것 수 등 및 또는 그리고 하지만 그래서
    때문에 대해 대한 관련 있나요 있는 있다 없는 없나요 했나요 했지 했어 했습니까 하나요 하는 한 할 하기로
    되나요 됐나요 인가요 이었나요 였나요 입니까 합니까 좀 더 안
    """.split()  # noqa: SIM905 - a list to read, not code
)

# What a Korean word loses before it is looked for, longest first.
KOREAN_ENDINGS = tuple(
    sorted(
        """
        했습니다 합니다 입니다 됩니다 습니다 습니까 했나요 하나요 인가요 되나요 됐나요 이었나요 였나요 나요
        까요 했던 하는 했다 했어 했지 하기로 하기 해서 하면 하고 에서는 에서도 에서 에게 으로는 으로 부터 까지
        이라고 라고 이랑 처럼 보다 마다 들이 들을 들은 이다 은 는 이 가 을 를 에 의 와 과 도 만 로
        """.split(),  # noqa: SIM905 - a list to read, not code
        key=len,
        reverse=True,
    )
)

_CHINESE_GAP = re.compile("|".join(sorted(CHINESE, key=len, reverse=True)))
_JAPANESE_GAP = re.compile("|".join(sorted(JAPANESE, key=len, reverse=True)))
_KANA = re.compile("[\u3041-\u30ff]")
_HIRAGANA_ONLY = re.compile("[\u3041-\u309f]+")
_HANGUL = re.compile("[\uac00-\ud7a3]")


def has_cjk_stop_word(run: str) -> bool:
    """True where a run of CJK holds a word that only sentences hold."""
    if _HANGUL.search(run):
        return run in KOREAN
    gap = _JAPANESE_GAP if _KANA.search(run) else _CHINESE_GAP
    return len(run) > 3 and gap.search(run) is not None


def content_pieces(run: str) -> list[str]:
    """Return what is left of a run of CJK without its stop words; single characters only where nothing longer is."""
    if _HANGUL.search(run):
        return _korean(run)
    gap = _JAPANESE_GAP if _KANA.search(run) else _CHINESE_GAP
    pieces = [piece for piece in gap.split(run) if piece and not (len(piece) == 1 and _HIRAGANA_ONLY.match(piece))]
    return [piece for piece in pieces if len(piece) > 1] or pieces


def _korean(word: str) -> list[str]:
    if word in KOREAN:
        return []
    for ending in KOREAN_ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 2:
            return [word[: -len(ending)]]
    return [word]
