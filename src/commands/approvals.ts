import type { OutcomeBlock } from '../api/commands.ts'
import type { ApprovalView } from '../api/views/approval.ts'
import { minHashLength } from '../domain/approval.ts'
import { UsageError } from '../domain/errors.ts'
import { shortId } from '../domain/id.ts'
import { defineCommand } from './command.ts'
import { factsBlock, tableOutcome, textOutcome } from './outcome.ts'

/** Characters of a hash that are shown. */
const hashLength = 12

const scopeFlags = ['--session', '--agent', '--tomorrow'] as const

export const approvalCommands = [
  defineCommand({
    name: 'approvals',
    usage: '/approvals',
    summary: 'calls that wait for your approval',
    example: '/approvals',
    action: 'approval.list',
    async run({ app }) {
      const open = await app.approvals()
      const [only] = open
      if (only && open.length === 1) return { blocks: approvalBlocks(only) }
      return tableOutcome(open, {
        columns: {
          approval: ({ id }) => `approval:${id}`,
          agent: ({ agent }) => `@${agent}`,
          tool: ({ tool }) => tool,
          why: ({ reason }) => reason,
          asked: ({ askedAt }) => askedAt,
        },
        wide: 'why',
        empty: 'nothing needs your approval',
        next: `/show approval:${only?.id} shows what it would do, and how to approve it`,
      })
    },
  }),
  defineCommand({
    name: 'approve',
    usage: '/approve id hash [--session|--agent|--tomorrow]',
    summary: 'approve a waiting call, exactly as it was shown',
    example: '/approve 3 1a2b3c4d5e6f',
    action: 'approval.decide',
    parse(words) {
      const scope = words.oneFlag(scopeFlags)
      const id = words.number('approval')
      const hash = words.optionalWord()
      if (hash === undefined || hash.length < minHashLength)
        throw new UsageError(
          `approving needs the hash of what you were shown, at least ${minHashLength} characters of it`,
          `/show approval:${id} shows it, and the command that approves it`,
          'hash_missing',
        )
      return { id, hash, answer: answerOf(scope) }
    },
    async run({ app }, { id, ...decision }) {
      const { runId } = await app.decide(`approval:${id}`, decision)
      return textOutcome(
        decision.answer === 'tomorrow' ? `approval:${id} continues tomorrow` : `approval:${id} approved`,
        {
          next: `/show run:${shortId(runId)}`,
        },
      )
    },
  }),
  defineCommand({
    name: 'deny',
    usage: '/deny id [reason]',
    summary: 'deny a waiting call; the agent gets your reason',
    example: '/deny 3 use the test database',
    action: 'approval.decide',
    parse: (words) => ({ id: words.number('approval'), reason: words.optionalText() }),
    async run({ app }, { id, reason }) {
      const { runId } = await app.decide(`approval:${id}`, { answer: 'no', ...(reason !== undefined && { reason }) })
      return textOutcome(`approval:${id} denied`, { next: `/show run:${shortId(runId)}` })
    },
  }),
]

function answerOf(scope: (typeof scopeFlags)[number] | undefined): 'once' | 'session' | 'agent' | 'tomorrow' {
  if (scope === '--session') return 'session'
  if (scope === '--agent') return 'agent'
  return scope === '--tomorrow' ? 'tomorrow' : 'once'
}

/** Everything about a question: the runtime's own facts, the whole text of the call, and the command that approves it. */
export function approvalBlocks(approval: ApprovalView): OutcomeBlock[] {
  const { id, hash, agent, tool, facts, reason, trusted, sources, request, runId, change, answer, scopes } = approval
  const wider = scopes.filter((scope) => scope !== 'once').map((scope) => ` [--${scope}]`)
  const what = factsBlock({ approval: `approval:${id}: @${agent} wants ${tool}` })
  const around = factsBlock({
    why: reason,
    careful: trusted ? undefined : `it has read ${sources.join(', ') || 'untrusted content'}`,
    asked: request,
    run: `run:${shortId(runId)}`,
    answer,
  })
  return [
    { kind: 'facts', facts: [...what.facts, ...facts, ...around.facts] },
    { kind: 'quote', text: change },
    ...(answer === undefined
      ? [
          {
            kind: 'text' as const,
            text: `/approve ${id} ${hash.slice(0, hashLength)}${wider.join('')}    /deny ${id} [reason]`,
          },
        ]
      : []),
  ]
}
