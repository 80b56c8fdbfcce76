const begin = '\u001b[200~'
const end = '\u001b[201~'

/** Turns bracketed paste on and off. */
export const enablePaste = '\u001b[?2004h'
export const disablePaste = '\u001b[?2004l'

/** Placeholders in the typed line for a line break and a tab of a message. */
const lineBreak = '⏎'
const tab = '⇥'

/**
 * Filters terminal input so that pastes are safe: line breaks in a paste do not send the message, and nothing in it acts
 * as a key. Alt-Enter is a line break too.
 */
export class PasteFilter {
  #isInside = false
  /** End of the input that may be the start of a paste marker. */
  #held = ''
  #breaks = ''

  pass(keys: string): string {
    let rest = this.#held + keys
    this.#held = ''
    let passed = ''
    while (rest !== '') {
      const sign = this.#isInside ? end : begin
      const at = rest.indexOf(sign)
      const part = at === -1 ? rest : rest.slice(0, at)
      if (at === -1) {
        this.#held = heldBack(part, sign, this.#isInside ? 1 : 3)
        passed += this.#take(part.slice(0, part.length - this.#held.length))
        break
      }
      passed += this.#take(part)
      rest = rest.slice(at + sign.length)
      this.#isInside = !this.#isInside
      // Copied lines end with a break that is not part of the message.
      this.#breaks = ''
    }
    return passed
  }

  #take(text: string): string {
    if (!this.#isInside) return text.replaceAll('\u001b\r', lineBreak)
    let taken = ''
    for (const character of text.replaceAll('\r\n', '\n')) {
      if (character === '\n' || character === '\r') this.#breaks += lineBreak
      else if (character === '\t' || !isControl(character)) {
        taken += this.#breaks + (character === '\t' ? tab : character)
        this.#breaks = ''
      }
    }
    return taken
  }
}

/** Replaces the placeholders by line breaks and tabs. */
export function restoreBreaks(line: string): string {
  return line.replaceAll(lineBreak, '\n').replaceAll(tab, '\t')
}

/** The end of the text that may start the marker. Complete keys must not be held back. */
function heldBack(text: string, sign: string, least: number): string {
  for (let length = Math.min(sign.length - 1, text.length); length >= least; length--)
    if (sign.startsWith(text.slice(-length))) return text.slice(-length)
  return ''
}

function isControl(character: string): boolean {
  const code = character.codePointAt(0) ?? 0
  return code < 32 || (code >= 127 && code < 160)
}
