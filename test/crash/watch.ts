import type { ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { startProgram } from './life.ts'

/** Talks to the checker: a program of its own that knows nothing of ours but files and tables. */
export class Watch {
  readonly #child: ChildProcess
  readonly #waiting = new Map<number, PromiseWithResolvers<string[]>>()
  #asked = 0

  constructor() {
    const { child, lines, complaints } = startProgram(join(import.meta.dirname, 'checker.ts'), [])
    this.#child = child
    lines.on('line', (line) => {
      const { id, problems } = JSON.parse(line)
      this.#waiting.get(id)?.resolve(problems)
      this.#waiting.delete(id)
    })
    child.on('close', () => {
      for (const { reject } of this.#waiting.values()) reject(new Error(`the checker has ended: ${complaints()}`))
    })
  }

  /** What is wrong, in sentences that begin with the invariant that is broken. */
  judge(file: string): Promise<string[]> {
    return this.#ask({ judge: file })
  }

  /** Keeps the rows as they are now, for the judgement: what was there may not change later. */
  async keep(moment: object, file: string): Promise<void> {
    const [problem] = await this.#ask({ keep: moment, file })
    if (problem !== undefined) throw new Error(problem)
  }

  close(): void {
    this.#child.disconnect()
  }

  #ask(question: object): Promise<string[]> {
    const answer = Promise.withResolvers<string[]>()
    const id = ++this.#asked
    this.#waiting.set(id, answer)
    this.#child.send({ id, ...question })
    return answer.promise
  }
}
