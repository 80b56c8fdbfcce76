import { stopWords } from './stop-words.ts'
import { type Term, termsIn } from './words.ts'

/** A paragraph up to this length is the user's own words; a longer one may be pasted. */
const maxOwnParagraph = 600
/** Max characters of a question, and of a last line that counts as one. */
const maxQuestion = 300

/** Importance of words that say little: fillers, grammar, small numbers; and of pasted text. */
const importanceOf = { filler: 0.1, hiragana: 0.3, smallNumber: 0.3, pasted: 0.05 }

/** A word of a message, and how much it says about what the message asks for. */
interface QuestionTerm extends Term {
  /** 0 to 1. */
  importance: number
  /** Of text that is only passed along: it may add to a match, but what lacks it is no worse. */
  isContext: boolean
}

/**
 * Words of a message to look for. The beginning and the end of a message, and its questions, say what it is about; what
 * lies between them is often pasted and counts little, but all of it is read.
 */
export function questionTerms(message: string): QuestionTerm[] {
  const { own, context } = partsOf(message)
  const terms = new Map<string, QuestionTerm>()
  for (const term of termsIn(own)) add(terms, { ...term, importance: importanceIn(term), isContext: false })
  const about = [...terms.values()].filter(({ importance }) => importance > importanceOf.filler)
  if (about.length === 0 && context === '') return [...terms.values()]
  const found = new Map(about.map((term) => [term.forms[0], term]))
  for (const term of termsIn(context)) {
    const importance = importanceIn(term)
    if (importance > importanceOf.filler)
      add(found, { ...term, importance: importance * importanceOf.pasted, isContext: true })
  }
  return [...found.values()]
}

/** The part of a message that is the author's own: to be compared by its meaning. */
export function ownPart(message: string): string {
  return partsOf(message).own
}

function add(terms: Map<string, QuestionTerm>, term: QuestionTerm): void {
  const [first] = term.forms
  if (!terms.has(first)) terms.set(first, term)
}

function importanceIn({ forms, isHiragana }: Term): number {
  if (forms.some((form) => stopWords.has(form) || /^[a-z]$/.test(form))) return importanceOf.filler
  if (isHiragana) return importanceOf.hiragana
  return /^\d{1,2}$/.test(forms[0]) ? importanceOf.smallNumber : 1
}

function partsOf(message: string): { own: string; context: string } {
  const paragraphs = message.split(/\n\s*\n/u).filter((paragraph) => paragraph.trim() !== '')
  const last = (paragraphs.pop() ?? '').trimEnd()
  const first = paragraphs.shift()
  const isFirstOwn = first !== undefined && first.length <= maxOwnParagraph
  const end = last.length <= maxOwnParagraph ? last : endOf(last, isFirstOwn ? first : '')
  const own = [...(isFirstOwn ? [first] : []), end]
  const rest = [
    ...(first === undefined || isFirstOwn ? [] : [first]),
    ...paragraphs,
    last.slice(0, last.length - end.length),
  ]
  const context = rest.join('\n').trim()
  return { own: [...own, ...questionsIn(context)].join('\n'), context }
}

/** Sentences that end with a question mark, which is not that of an address. */
function questionsIn(text: string): string[] {
  return text.split('\n').flatMap((line) => {
    const sentences = line.split(/(?<=[.!?。！？])/u)
    return sentences.filter(
      (sentence, at) =>
        /[?？]$/u.test(sentence) && sentence.length <= maxQuestion && /^\s|^$/u.test(sentences[at + 1] ?? ''),
    )
  })
}

/** The last line of a long paragraph, unless it ends what was announced: "here is the log:". */
function endOf(paragraph: string, before: string): string {
  const line = paragraph.slice(paragraph.lastIndexOf('\n') + 1)
  const isAnnounced = /[?？:：]\s*$/u.test(before) || questionsIn(before).length > 0
  if (isAnnounced && !/[?？]$/u.test(line)) return ''
  return line.length <= maxQuestion ? line : line.slice(-maxQuestion).toWellFormed()
}
