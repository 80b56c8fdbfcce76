const begin = '\u001b[200~'
const end = '\u001b[201~'

/** Asks a terminal to say where a paste begins and ends, and to stop saying so. */
export const askForPastes = '\u001b[?2004h'
export const noMorePastes = '\u001b[?2004l'

/** What stands on the line for a line break and a tab that belong to a message. */
const lineBreak = '⏎'
const tab = '⇥'

/**
 * Keys as they come from a terminal, with pastes made harmless: line breaks inside one do not send what is typed so far,
 * and nothing in it is a key. Alt-Enter is a line break, too.
 */
export class PasteFilter {
  #isInside = false
  /** The end of what came, as long as it may be part of a sign. */
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
      // Whoever copies whole lines copies the last break, too, and does not mean it.
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

/** A line as it was meant. */
export function meant(line: string): string {
  return line.replaceAll(lineBreak, '\n').replaceAll(tab, '\t')
}

/** What may be the beginning of the sign; keys that are whole as they are must not wait. */
function heldBack(text: string, sign: string, least: number): string {
  for (let length = Math.min(sign.length - 1, text.length); length >= least; length--)
    if (sign.startsWith(text.slice(-length))) return text.slice(-length)
  return ''
}

function isControl(character: string): boolean {
  const code = character.codePointAt(0) ?? 0
  return code < 32 || (code >= 127 && code < 160)
}
