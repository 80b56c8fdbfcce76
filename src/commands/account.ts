import { defineCommand } from './command.ts'
import { factsBlock, textOutcome } from './outcome.ts'

/** Commands about the sender and the settings of this home. */
export const accountCommands = [
  defineCommand({
    name: 'whoami',
    usage: '/whoami',
    summary: 'who you are here, and what you may do',
    example: '/whoami',
    action: 'user.self',
    async run({ app }) {
      const { principal, rank, scopes, folder, trusted, perDayUsd } = await app.whoami()
      return {
        blocks: [
          factsBlock({
            you: principal,
            role: rank,
            scopes: scopes?.join(', ') ?? 'all',
            trust: trusted ? 'your words are trusted' : 'your words are untrusted: agents ask before they act on them',
            folder,
            'per day': perDayUsd === null ? undefined : `$${perDayUsd.toFixed(2)}`,
          }),
        ],
        next: '/help lists the commands that you may use',
      }
    },
  }),
  defineCommand({
    name: 'config get',
    usage: '/config get key',
    summary: 'one setting as it is in use; secrets are redacted',
    example: '/config get agents.maxConcurrent',
    action: 'config.read',
    parse: (words) => words.word('key'),
    async run({ app }, key) {
      const { value } = await app.setting(key)
      return textOutcome(`${key}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    },
  }),
]
