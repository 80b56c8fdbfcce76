import { appendFileSync, chmodSync, readFileSync, renameSync, writeFileSync } from 'node:fs'

/** What was typed before, the newest first, as far as it is kept. */
export interface LineHistory {
  readonly most: number
  lines(): string[]
  /** Keeps a line for next time; one that begins with a blank is nobody's business. */
  keep(line: string): void
}

/** Lines in a file that only its owner can read. A file that cannot be used means no history, never a failure. */
export function historyIn(file: string, most = 1000): LineHistory {
  const read = () => {
    try {
      return readFileSync(file, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
    } catch {
      return []
    }
  }
  return {
    most,
    lines() {
      const all = read()
      if (all.length > most) shorten(file, all.slice(-most))
      return all.slice(-most).reverse()
    },
    keep(line) {
      if (line.startsWith(' ')) return
      try {
        appendFileSync(file, `${line}\n`, { mode: 0o600 })
      } catch {
        // A full disk takes the history of lines, not the conversation.
      }
    },
  }
}

function shorten(file: string, lines: string[]): void {
  const beside = `${file}.${process.pid}`
  try {
    writeFileSync(beside, `${lines.join('\n')}\n`, { mode: 0o600 })
    chmodSync(beside, 0o600)
    renameSync(beside, file)
  } catch {
    // Too long is no harm.
  }
}
