import { smallNumbers } from './number-words.ts'
import { looksAlike } from './statement.ts'
import { stopWords, weakVerbs } from './stop-words.ts'
import { spellingsIn, type Term, termsIn, uniqueTerms } from './words.ts'

/** A paragraph up to this length, or a whole message, is the user's own words; a longer one may be pasted. */
const maxOwnParagraph = 600
/** Max characters of a question, and of a first or last line that counts as one. */
const maxQuestion = 300
/** Text besides what a message asks that is as likely its author's as pasted. */
const maxNear = 1500
/** A greeting or a closing has at most this many significant words. */
const maxCourtesy = 3
/** A closing with a name and an address has at most this many lines. */
const maxClosingLines = 12
const maxClosingLine = 60
/** Share of a signature that is grammar, such as "of": sentences have more. */
const maxGrammar = 0.3

/** Max requests of a message, those in its own words first: a pasted list of questions may have thousands. */
const maxRequests = 100

/** How the first line of what a letter closes with begins. */
const closings = [
  '(?:with |mit )?(?:best|kind(?:est)?|warm(?:est)?|many|freundliche[mn]?|beste[mn]?|herzliche[mn]?|liebe[mn]?|vielen?|schöne[mn]?) ' +
    '(?:regards|wishes|gr(?:ü|ue)(?:ß|ss)en?|gru(?:ß|ss))',
  'regards|sincerely|mfg|gr(?:ü|ue)(?:ß|ss)e|saludos|yours (?:sincerely|faithfully|truly)|hochachtungsvoll|cordialement',
  '(?:many |vielen )?(?:thanks|thank you|danke?)(?: (?:a lot|so much|again|in advance|im voraus))?[\\s,.!]*$',
  'sent from my|von meinem .{1,20} gesendet|--\\s*$|敬具|(?:どうぞ)?(?:よろしく)?お願い(?:いた)?します',
]
const closing = new RegExp(`^\\s*(?:${closings.join('|')})(?!\\p{L})`, 'iu')

/**
 * Importance of words that say little: fillers, grammar, small numbers; of text that stands beside what a message asks, and
 * of pasted text.
 */
const importanceOf = { filler: 0.1, hiragana: 0.3, smallNumber: 0.3, near: 0.5, pasted: 0.05 }

/** A word of a message, and how much it says about what the message asks for. */
interface QuestionTerm extends Term {
  /** 0 to 1. */
  importance: number
  /** Of text that is only passed along: it may add to a match, but what lacks it is no worse. */
  isContext: boolean
  /** Tells apart memories that other words find, and finds none by itself. */
  onlyRanks?: boolean
  /** Numbers of the requests of the message that have it. */
  requests: number[]
}

/**
 * Words of a message to look for. The beginning and the end of a message, and its questions, say what it is about; what
 * lies between them is often pasted and counts little, but all of it is read.
 */
export function questionTerms(message: string): QuestionTerm[] {
  const { own, near, pasted } = partsOf(message)
  const terms = new Map<string, QuestionTerm>()
  const named = namedWords(own.join('\n'))
  for (const term of termsIn(own.join('\n'))) {
    const least = named.has(term.forms[0]) ? importanceOf.smallNumber : 0
    add(terms, { ...term, importance: Math.max(least, importanceIn(term)), isContext: false, requests: [] })
  }
  // People write stand-up and standup: what lacks the one may have the other.
  for (const term of termsIn(own.join('\n').replace(innerHyphen, '')))
    add(terms, { ...term, importance: importanceIn(term), isContext: true, requests: [] })
  for (const [at, request] of requestsIn(own).entries())
    for (const { forms } of uniqueTerms(request)) terms.get(forms[0])?.requests.push(at)
  const about = [...terms.values()].filter(isSignificant)
  if (about.length === 0 && near + pasted === '') return [...terms.values()]
  const found = new Map(about.map((term) => [term.forms[0], term]))
  for (const [first, term] of terms)
    if (about.length > 0 && weakVerbs.has(first)) found.set(first, { ...term, onlyRanks: true })
  for (const [text, share] of [
    [near, importanceOf.near],
    [pasted, importanceOf.pasted],
  ] as const)
    for (const term of termsIn(text)) {
      const importance = importanceIn(term)
      if (isSignificant({ importance }))
        add(found, { ...term, importance: importance * share, isContext: true, requests: [] })
    }
  return [...found.values()]
}

/** The part of a message that is the author's own: to be compared by its meaning. */
export function userPart(message: string): string {
  return partsOf(message).own.join('\n')
}

/** Words that distinguish a text from others: no fillers, grammar or small numbers. */
export function distinctiveWords(text: string): Set<string> {
  return new Set(termsIn(text).flatMap((term) => (importanceIn(term) === 1 ? [term.forms[0]] : [])))
}

/** Whether one of the words says something about a topic: fillers, particles and small numbers meet in texts by chance. */
export function tellsTopic(words: readonly string[]): boolean {
  return words.some((word) => !stopWords.has(word) && !smallNumbers.has(word) && !chance.test(word))
}

/** Single letters, single hiragana such as は and の, and small numbers. */
const chance = /^(?:[a-z\p{Script=Hiragana}]|\d{1,2})$/u

/** Words within a sentence that have a capital only as a name: plan B, Will, May. Of many alike they tell which one is meant. */
function namedWords(text: string): Set<string> {
  const names = text.match(/(?<=[\p{Ll}\p{N}] )(?!I\b)\p{Lu}\p{Ll}*(?![\p{L}\p{N}'’])/gu) ?? []
  return new Set(names.flatMap(spellingsIn))
}

const innerHyphen = /(?<=[\p{Lu}\p{Ll}\p{N}])[-‐‑](?=[\p{Lu}\p{Ll}\p{N}])/gu

function add(terms: Map<string, QuestionTerm>, term: QuestionTerm): void {
  const [first] = term.forms
  if (!terms.has(first)) terms.set(first, term)
}

/** Letters that are no word, and not left of one by an apostrophe: plan B, key K. */
const namingLetter = /^[bfghkpqrvwxz]$/

function importanceIn({ forms, isHiragana }: Term): number {
  if (forms.some((form) => smallNumbers.has(form) || namingLetter.test(form))) return importanceOf.smallNumber
  if (forms.some((form) => stopWords.has(form) || /^[a-z]$/.test(form))) return importanceOf.filler
  if (isHiragana) return importanceOf.hiragana
  return /^\d{1,2}$/.test(forms[0]) ? importanceOf.smallNumber : 1
}

/** What a message asks, text beside that, and the rest. */
interface MessageParts {
  own: string[]
  near: string
  pasted: string
}

function partsOf(message: string): MessageParts {
  const text = message.replace(/\r\n?/g, '\n').trim()
  if (text.length <= maxOwnParagraph) return { own: [text], near: '', pasted: '' }
  const { said, quoted } = withoutQuotes(text)
  if (said === '') return divided(quoted)
  const { own, near, pasted } = withoutClosing(said)
  return quoted.length <= maxNear
    ? { own, near: `${near}\n${quoted}`.trim(), pasted }
    : { own, near, pasted: `${pasted}\n${quoted}`.trim() }
}

/** The same for a text without quotes. The closing of a letter, a name and an address say nothing about what it asks. */
function withoutClosing(text: string): MessageParts {
  const lines = text.split('\n')
  const from = Math.max(1, lines.length - maxClosingLines)
  const at = lines.findIndex((line, number) => number >= from && closing.test(line))
  const [said, end] = [lines.slice(0, at).join('\n').trim(), lines.slice(at).join('\n')]
  // What follows the closing of a pasted letter is what its reader says.
  const isEnd = at !== -1 && isClosing(end.split(/\n\s*\n/u))
  if (!isEnd || said === '') return divided(text)
  const { own, near, pasted } = divided(said)
  return { own, near, pasted: `${pasted}\n${end}`.trim() }
}

/** Phrases of courtesy with one name and address, below the phrase or in a paragraph of their own. */
function isClosing(paragraphs: readonly string[]): boolean {
  const signatures = paragraphs.map(withoutPhrases).filter((rest) => rest !== '')
  return signatures.length <= 1 && signatures.every(isSignature)
}

function withoutPhrases(paragraph: string): string {
  const lines = paragraph.split('\n').filter((line) => line.length > maxClosingLine || !closing.test(line))
  return lines.join('\n').trim()
}

/** A name with an address and a telephone number: no sentence, nor what begins with a small letter. */
function isSignature(text: string): boolean {
  const terms = termsIn(text)
  const grammar = terms.filter((term) => term.isHiragana || importanceIn(term) === importanceOf.filler)
  return !/^\p{Ll}|[?？]/u.test(text) && grammar.length <= maxGrammar * terms.length
}

/** The same for a text without a closing. */
function divided(text: string): MessageParts {
  if (text.length <= maxOwnParagraph) return { own: [text], near: '', pasted: '' }
  const paragraphs = text.split(/\n\s*\n/u)
  const [first = '', last = ''] = [paragraphs[0], paragraphs.at(-1)]
  const head = leadOf(first)
  const end = endOf(last, head)
  const middle =
    paragraphs.length === 1
      ? [text.slice(head.length, text.length - end.length)]
      : [first.slice(head.length), ...paragraphs.slice(1, -1), last.slice(0, last.length - end.length)]
  const rest = middle.filter((part) => part.trim() !== '')
  const isHeadOwn = head.length === first.length || announces(head) || end === ''
  const amidPastes = paragraphs.filter((each, at) => isAmidPastes(each, paragraphs[at - 1], paragraphs[at + 1]))
  const own = [...(isHeadOwn ? [head] : []), end, ...amidPastes, ...rest.flatMap(questionsIn)]
  const between = rest.join('\n')
  if (between.length <= maxNear) return { own, near: isHeadOwn ? between : `${head}\n${between}`, pasted: '' }
  const beside = [
    [first, paragraphs[1]],
    [last, paragraphs.at(-2)],
  ].flatMap(([outer = '', inner = '']) => (isGreeting(outer) && inner.length <= maxOwnParagraph ? [inner] : []))
  const near = isHeadOwn || beside.length > 0 ? beside.join('\n') : head
  return { own, near, pasted: between }
}

/** What a message quotes, in a closed fence or behind `>`, without these marks; and the rest, which its author said. */
function withoutQuotes(text: string): { said: string; quoted: string } {
  const said: string[] = []
  const quoted: string[] = []
  let fence: { mark: string; at: number } | undefined
  for (const line of text.split('\n')) {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1]
    if (fence && mark?.startsWith(fence.mark)) {
      quoted.push(...said.splice(fence.at).slice(1))
      said.push('', '')
      fence = undefined
    } else if (!fence && line.startsWith('>')) {
      quoted.push(line.replace(/^[> ]+/, ''))
      said.push('')
    } else {
      if (!fence && mark) fence = { mark, at: said.length }
      said.push(line)
    }
  }
  return { said: said.join('\n').trim(), quoted: quoted.join('\n').trim() }
}

/** A greeting, a closing, thanks or a name: the paragraph next to it says what the message is about. */
function isGreeting(paragraph: string): boolean {
  if (paragraph.length > maxQuestion || /[?？]/u.test(paragraph)) return false
  return termsIn(paragraph).filter((term) => importanceIn(term) === 1).length <= maxCourtesy
}

/** A short paragraph between two long ones. */
function isAmidPastes(paragraph: string, before = '', after = ''): boolean {
  return paragraph.length <= maxQuestion && Math.min(before.length, after.length) > maxOwnParagraph
}

function isSignificant({ importance }: Pick<QuestionTerm, 'importance'>): boolean {
  return importance > importanceOf.filler
}

/** Sentences that end with a question mark, which is not that of an address, or as Japanese questions do without one. */
function questionsIn(text: string): string[] {
  return text.split('\n').flatMap((line) => {
    const sentences = line.split(/(?<=[.!?。！？])(?!(?<=\d\.)\d)/u)
    return sentences.filter(
      (sentence, at) =>
        sentence.length <= maxQuestion &&
        (/？$/u.test(sentence) ||
          japaneseQuestion.test(sentence) ||
          (/\?$/u.test(sentence) && /^\s|^$/u.test(sentences[at + 1] ?? ''))),
    )
  })
}

const japaneseQuestion = /(?:です|ます|でした|ました|ません|でしょう|だろう)か[。．]?$|(?:だっけ|かな)[。．]?$/u

const listItem = /^\s*(?:[-*•]|\d{1,2}[.)])\s/

/** What a message asks for, if that is more than one thing or said beside others. */
function requestsIn(own: readonly string[]): string[] {
  const parts = own.flatMap((part) => [
    part,
    ...outerParagraphsOf(part),
    ...questionsIn(part),
    ...part.split('\n').filter((line) => listItem.test(line)),
  ])
  return [...new Set(parts)]
    .slice(0, maxRequests)
    .filter((part) => termsIn(part).some((term) => importanceIn(term) === 1))
}

/** How a letter begins. */
const salutation =
  /^(?:hi|hello|hey|dear|good (?:morning|afternoon|evening|day)|hallo|guten? (?:morgen|tag|abend)|moin|servus|lieber?|sehr geehrte[rs]?|bonjour|hola|ciao|お疲れ|こんにちは|おはよう|いつも)(?!\p{L}{2})/iu

/** The first and the last paragraph, unless they are courtesy. */
function outerParagraphsOf(text: string): string[] {
  const [first = '', ...others] = text.split(/\n\s*\n/u)
  const last = others.at(-1)
  if (last === undefined) return []
  const isAddress = salutation.test(first) || /[,，、:!]\s*$/u.test(first) || termsIn(first).length < maxCourtesy
  return [...(isAddress ? [] : [first]), ...(isGreeting(last) ? [] : [last])]
}

/** A short paragraph, or the first line of a long one; of a long line its first sentence. */
function leadOf(paragraph: string): string {
  if (paragraph.length <= maxOwnParagraph) return paragraph
  const [line = ''] = paragraph.split('\n', 1)
  if (line.length <= maxQuestion) return line
  const [sentence = ''] = line.split(/(?<=[.!?:] |[。！？：])/u, 1)
  return sentence.length <= maxQuestion ? sentence : ''
}

/** A short paragraph, or the last line of a long one, unless it ends what was announced: "here is the log:". */
function endOf(paragraph: string, before: string): string {
  if (paragraph.length <= maxOwnParagraph) return paragraph
  const line = paragraph.slice(paragraph.lastIndexOf('\n') + 1)
  if ((announces(before) || continuesLines(paragraph, line)) && !/[?？]$/u.test(line)) return ''
  return line.length <= maxQuestion ? line : line.slice(-maxQuestion).toWellFormed()
}

/** Whether the last line of a paragraph is like the one before, as those of logs are. */
function continuesLines(paragraph: string, last: string): boolean {
  const before = paragraph.slice(0, -last.length).trimEnd()
  const line = before.slice(before.lastIndexOf('\n') + 1)
  return line !== '' && Math.max(line.length, last.length) <= maxQuestion && looksAlike(line, last)
}

function announces(text: string): boolean {
  return /[?？:：]\s*$/u.test(text) || questionsIn(text).length > 0
}
