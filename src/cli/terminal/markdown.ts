import { paint, printable, type Screen, wrapText } from './screen.ts'

const codeIndent = '    '
const fence = /^\s{0,3}(`{3,}|~{3,})/
const heading = /^(#{1,6})\s+(.*?)\s*#*$/
const item = /^(\s*(?:[-*+]|\d{1,3}[.)])\s+|\s*>\s?)/
const rule = /^\s{0,3}([-*_])(?:\s*\1){2,}\s*$/

/**
 * Renders markdown line by line as it streams: wrapped on a terminal, code unchanged; piped it stays markdown. Escape
 * sequences in it are made visible.
 */
export class Markdown {
  readonly #screen: Screen
  /** The fence that ends the current code block. */
  #fence = ''

  constructor(screen: Screen) {
    this.#screen = screen
  }

  /** The rows of a whole line. */
  line(text: string): string[] {
    const rows = this.peek(text)
    const [, sign = ''] = fence.exec(text) ?? []
    if (this.#fence === '') this.#fence = sign
    else if (sign.startsWith(this.#fence)) this.#fence = ''
    return rows
  }

  /** The rows of a line that may still grow. */
  peek(text: string): string[] {
    const safe = printable(text.replace(/\r$/, ''), { lines: true })
    if (!this.#screen.isTerminal) return [safe]
    const { columns } = this.#screen
    const spaced = safe.replaceAll('\t', codeIndent)
    const [, sign = ''] = fence.exec(text) ?? []
    if (this.#fence === '' ? sign !== '' : sign.startsWith(this.#fence)) return []
    if (this.#fence !== '') return wrapText(codeIndent + spaced, columns)
    if (spaced.trim() === '') return ['']
    if (rule.test(spaced)) return [paint(this.#screen, 'dim', '─'.repeat(Math.min(columns, 40)))]
    return wrapText(this.#styled(spaced), columns, { words: true, hang: hangOf(spaced) })
  }

  /** Removes markers only where colour replaces them. */
  #styled(text: string): string {
    if (!this.#screen.color) return text
    const [, , title] = heading.exec(text) ?? []
    if (title !== undefined) return paint(this.#screen, 'bold', title.replaceAll('**', ''))
    return text.replace(/(`+)(.+?)\1|\*\*(\S(?:.*?\S)?)\*\*/g, (whole, _ticks, code?: string, strong?: string) => {
      if (code !== undefined) return paint(this.#screen, 'cyan', code)
      return strong === undefined ? whole : paint(this.#screen, 'bold', strong)
    })
  }
}

/** Renders a whole text. */
export function markdown(screen: Screen, text: string): string {
  const lines = new Markdown(screen)
  return text
    .split('\n')
    .flatMap((line) => lines.line(line))
    .join('\n')
}

/** Hanging indent of a list item. */
function hangOf(text: string): string {
  const [sign = ''] = item.exec(text) ?? []
  return sign.length > 12 ? '' : ' '.repeat(sign.length)
}
