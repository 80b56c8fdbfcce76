import type { MemoryLine } from '../api/views/memory.ts'
import { defineCommand } from './command.ts'
import { tableOutcome, textOutcome } from './outcome.ts'

const maxListed = 20

export const memoryCommands = [
  defineCommand({
    name: 'memory',
    usage: '/memory',
    summary: 'what is remembered, newest first',
    example: '/memory',
    action: 'memory.read',
    run: async ({ app }) => listing(await app.memories({ limit: maxListed })),
  }),
  defineCommand({
    name: 'memory find',
    usage: '/memory find words',
    summary: 'memories that match these words, best first',
    example: '/memory find which port',
    action: 'memory.read',
    parse: (words) => words.text('words to find'),
    run: async ({ app }, question) => listing((await app.searchMemories(question, { limit: maxListed })).memories),
  }),
  defineCommand({
    name: 'memory add',
    usage: '/memory add statement',
    summary: 'remember a statement',
    example: '/memory add the staging server listens on port 8443',
    action: 'memory.write',
    parse: (words) => words.text('statement'),
    async run({ app }, content) {
      const { memory, isMerged } = await app.remember({ content })
      return textOutcome(isMerged ? `already saved as memory:${memory.id}` : `memory:${memory.id} is stored`, {
        next: `/memory forget ${memory.id}`,
      })
    },
  }),
  defineCommand({
    name: 'memory forget',
    usage: '/memory forget id',
    summary: 'forget a memory for good',
    example: '/memory forget 12',
    action: 'memory.write',
    parse: (words) => words.number('memory'),
    async run({ app }, id) {
      const { near, narratives, notes } = await app.forgetMemory(id)
      const told = narratives.length > 0 ? `; hidden from now on: narrative:${narratives.join(', narrative:')}` : ''
      const [twin] = near
      const still = twin
        ? `\nsimilar, still there: ${near.map((each) => `memory:${each.id} ${each.content}`).join('; ')}`
        : ''
      const noted = notes.map(({ path, line, text }) => `\na note may say the same: ${path}:${line} ${text}`).join('')
      return textOutcome(
        `memory:${id} is forgotten${told}${still}${noted}`,
        twin && { next: `/memory forget ${twin.id}` },
      )
    },
  }),
]

function listing(memories: readonly MemoryLine[]) {
  return tableOutcome(memories, {
    columns: {
      memory: ({ id }) => `memory:${id}`,
      says: ({ content, trusted }) => (trusted ? content : `(untrusted) ${content}`),
      tags: ({ tags }) => tags.join(', '),
      stored: ({ createdAt }) => createdAt,
    },
    wide: 'says',
    empty: 'no such memories    /memory add statement',
  })
}
