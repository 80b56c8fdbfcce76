/** A tool call as a model makes it. */
export interface Call {
  name: string
  input: unknown
}

/** A call and what the model was told of it. */
export interface Result extends Call {
  text: string
}

export function exec(command: string, more: object = {}): Call {
  return { name: 'exec', input: { command, ...more } }
}

/** A word for a shell. */
export function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`
}

const theEnd = 'the end of it'

/** A command that tells that it ran to its end, whatever came of it. */
export function command(text: string, more: object = {}): Call {
  return { name: 'exec', input: { command: `( ${text}\n) 2>&1; echo ${theEnd}`, ...more } }
}

/** Whether a command ran to its end. */
export function isEnded(text: string): boolean {
  return text.includes(theEnd)
}
