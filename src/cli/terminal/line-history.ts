import { appendFileSync, chmodSync, readFileSync, renameSync, writeFileSync } from 'node:fs'

/** History of typed lines, newest first. */
export interface LineHistory {
  readonly max: number
  lines(): string[]
  /** Saves a line; one that begins with a space is not saved. */
  keep(line: string): void
}

/** History in a private file. If the file cannot be used there is no history; that is never an error. */
export function historyIn(file: string, max = 1000): LineHistory {
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
    max,
    lines() {
      const all = read()
      if (all.length > max) shorten(file, all.slice(-max))
      return all.slice(-max).reverse()
    },
    keep(line) {
      if (line.startsWith(' ')) return
      try {
        appendFileSync(file, `${line}\n`, { mode: 0o600 })
      } catch {
        // Must not fail the chat, as on a full disk.
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
    // A file that stays too long does no harm.
  }
}
