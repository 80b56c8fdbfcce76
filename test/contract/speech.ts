import { writeSync } from 'node:fs'
import { createInterface } from 'node:readline'

/** What the test that started this program asks for. */
export function input<T>(): T {
  return JSON.parse(process.argv[2] ?? 'null')
}

/** Says something to the test; it is said, whatever happens to this process next. */
export function say(value: unknown): void {
  writeSync(1, `${JSON.stringify(value)}\n`)
}

/** Waits for a line from the test; ends the process when the test is gone. */
export async function told(): Promise<string> {
  const { value, done } = await lines.next()
  if (done) process.exit(0)
  return value
}

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
