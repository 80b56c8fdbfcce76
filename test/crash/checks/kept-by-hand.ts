import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Evidence, Row } from '../evidence.ts'
import type { Expect } from '../facts.ts'
import type { Kept } from '../said.ts'

/** I1, I2: what was done by hand and acknowledged is there, and there once, however often it was asked for. */
export function checkKeptByHand({ rows, kept, folder, config }: Evidence, expect: Expect): void {
  const count = (found: Row[]) => found.length
  const vectorsOf = (content: string) =>
    rows.memory_vectors.filter((vector) =>
      rows.memories.some((memory) => memory['id'] === vector['memory_id'] && memory['content'] === content),
    )
  const countOf = (what: Kept['kept'], name: string): number => {
    switch (what) {
      case 'turn':
        return count(rows.turns.filter((turn) => String(turn['query_messages_json']).includes(`"${name}"`)))
      case 'session':
        return count(rows.sessions.filter(({ label }) => label === name || label === 'side'))
      case 'persona':
        return count(rows.personas.filter(({ id }) => id === name))
      case 'memory':
        return count(rows.memories.filter(({ content }) => content === name))
      case 'vector':
        return count(vectorsOf(name))
      case 'setting':
        return config.split('\n').filter((line) => line.trim() === name.split('.').at(-1)).length
      case 'backup':
        return Number(existsSync(name))
      case 'undone':
        return Number(!existsSync(join(folder, name)))
    }
  }
  for (const { kept: what, name } of kept) {
    const times = countOf(what, name)
    expect(times === 1, 'I2', `the ${what} "${name}" was acknowledged, and is there ${times} times`)
  }
}
