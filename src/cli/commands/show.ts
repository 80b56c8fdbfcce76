import type { ShowResult } from '../../api/turns.ts'
import type { RunView } from '../../api/views/run.ts'
import type { TurnView } from '../../api/views/turn.ts'
import { describePart } from '../../domain/attachment.ts'
import { shortId } from '../../domain/id.ts'
import type { Message } from '../../domain/message.ts'
import type { ModelSettings, Permissions, SandboxPermissions } from '../../domain/persona.ts'
import type { TurnModel } from '../../domain/turn.ts'
import { wholeQuestion } from '../approvals/question-page.ts'
import type { CommandContext, Register } from '../command.ts'
import { callStatus } from '../live/call-line.ts'
import { clampWords } from '../pages/answer-page.ts'
import { commandLines } from '../pages/command-lines.ts'
import { formatMoney, formatTokenCounts } from '../pages/format-spending.ts'
import { memoryPage, remindersLines } from '../pages/memory-page.ts'
import { narrativePage } from '../pages/narrative-page.ts'
import { planPage, resultPage, taskPage } from '../pages/plan-page.ts'
import { facts } from '../terminal/facts.ts'
import { formatAge, paint, printable, table } from '../terminal/screen.ts'

export const registerShow: Register = (program, run) => {
  program
    .command('show <ref>')
    .helpGroup('SEE')
    .description('show details of a turn, run, plan, task, result, memory, narrative, approval, session, persona')
    .addHelpText(
      'after',
      '\nExamples: heddle show turn:4c1e07    heddle show plan:1\n          heddle show session:main',
    )
    .action(
      run(async (here, [reference = '']) => {
        const client = await here.client()
        const shown = await client.show(here.folder, reference)
        return { json: shown, text: shownPage(here, shown) }
      }),
    )
}

function shownPage(here: CommandContext, shown: ShowResult): string {
  switch (shown.kind) {
    case 'turn':
      return turnPage(here, shown)
    case 'run':
      return runPage(here, shown)
    case 'approval':
      return wholeQuestion(here.screen, shown)
    case 'result':
      return resultPage(here.screen, shown)
    case 'plan':
      return planPage(here.screen, shown)
    case 'task':
      return taskPage(here.screen, shown)
    case 'memory':
      return memoryPage(here.screen, shown)
    case 'narrative':
      return narrativePage(here.screen, shown)
    case 'session':
      return facts(here.screen, `session:${printable(shown.label)}`, [
        ['folder', printable(shown.folder)],
        ['head', shown.headTurnId ? `turn:${shown.headTurnId}` : 'no turn yet'],
        ['turns', String(shown.depth)],
        ['persona', personaWords(shown.persona, shown.boundBy)],
        ['prompt', shown.ownSystemPrompt && printable(shown.ownSystemPrompt, { lines: true })],
        ['used', formatAge(shown.updatedAt, here.clock.now()) + (shown.archived ? ', archived' : '')],
        ['next', `heddle log ${printable(shown.label)}`],
      ])
    case 'persona':
      return facts(here.screen, `persona:${shown.id}`, [
        ['name', printable(shown.identity.name) + (shown.identity.emoji ? ` ${printable(shown.identity.emoji)}` : '')],
        ['allow', shown.permissions.tools.allow?.join(', ') ?? 'every tool'],
        ['deny', shown.permissions.tools.deny?.join(', ') || null],
        ['commands', sandboxWords(shown.permissions.sandbox)],
        ['sees', shown.permissions.credentials ? shown.permissions.credentials.join(', ') || 'no credentials' : null],
        ['model', shown.defaultModelConfig?.model ?? null],
        ['thinking', shown.defaultModelConfig?.thinking?.level ?? null],
        ['settings', settingsWords(shown.defaultModelConfig ?? {})],
        ['soul', printable(shown.identity.soul, { lines: true }) || null],
      ])
  }
}

function turnPage(here: CommandContext, turn: TurnView): string {
  const head = facts(here.screen, `turn:${turn.id}`, [
    ['parent', turn.parentId ? `turn:${turn.parentId}` : 'none, it is the first turn'],
    [
      'place',
      `turn ${turn.depth}, ${turn.thread.totalTokens} tokens in context${turn.hasChildren ? ', has later turns' : ''}`,
    ],
    [
      'status',
      turn.type === 'compaction' && turn.compaction
        ? `${turn.status}, compaction of turns ${turn.compaction.fromDepth} to ${turn.compaction.toDepth}`
        : turn.status,
    ],
    ['sessions', turn.sessions.map((label) => printable(label)).join(', ') || null],
    ['persona', personaWords(turn.thread.persona, turn.thread.boundBy)],
    ['prompt', turn.thread.ownSystemPrompt && printable(turn.thread.ownSystemPrompt, { lines: true })],
    ['model', modelWords(turn.model)],
    ['thinking', turn.thinkingConfig?.level ?? null],
    ['settings', settingsWords(turn.settings ?? {})],
    ['may use', permissionsWords(turn.settings?.permissions)],
    ['trust', turn.label.integrity === 'untrusted' ? `untrusted: ${printable(turn.label.sources.join(', '))}` : null],
    ['run', `run:${turn.runId}`],
    ['at', turn.timestamp],
    ['key', turn.thread.threadKey],
  ])
  const calls = turn.toolCalls.map(
    (call) =>
      `${paint(here.screen, 'cyan', call.name)}  ${callStatus(call.status)}  ${printable(JSON.stringify(call.input))}`,
  )
  const reminders =
    turn.remindedOf.length + turn.remindedOfFiles.length === 0
      ? []
      : [
          `${paint(here.screen, 'bold', 'memories shown')}\n${remindersLines(here.screen, turn.remindedOf, turn.remindedOfFiles)}`,
        ]
  const { beganWith } = turn
  const summary = beganWith
    ? [
        `${paint(here.screen, 'bold', 'previous session summary')}    heddle show narrative:${beganWith.id}\n` +
          printable(beganWith.summary, { lines: true }),
      ]
    : []
  const messages = turn.query.map((message) => messageText(here, message))
  return [head, ...messages, ...summary, ...reminders, ...calls, messageText(here, turn.response)].join('\n\n')
}

/** The persona of a thread, and those that bind it besides. */
function personaWords(persona: string | null, boundBy: readonly string[]): string | null {
  if (boundBy.length === 0) return persona
  return `${persona ?? 'none'}, within the permissions of ${boundBy.join(', ')}`
}

function sandboxWords(sandbox: SandboxPermissions = {}): string | null {
  const { network, timeoutSeconds, memoryMB, processes } = sandbox
  const words = [
    ...(network === false ? ['no network'] : []),
    ...(timeoutSeconds === undefined ? [] : [`at most ${timeoutSeconds} s`]),
    ...(memoryMB === undefined ? [] : [`${memoryMB} MB`]),
    ...(processes === undefined ? [] : [`${processes} processes`]),
  ]
  return words.join(', ') || null
}

/** Permissions that held for a turn, each in one line. */
function permissionsWords(all: readonly Permissions[] = []): string | null {
  const lines = all.map(({ tools, sandbox, credentials }) =>
    [
      ...(tools.allow ? [`only ${tools.allow.join(', ') || 'no tool'}`] : []),
      ...(tools.deny?.length ? [`not ${tools.deny.join(', ')}`] : []),
      ...(tools.ask?.length ? [`asks for ${tools.ask.join(', ')}`] : []),
      ...(sandbox ? [`commands: ${sandboxWords(sandbox) ?? 'no limit'}`] : []),
      ...(credentials ? [`sees ${credentials.join(', ') || 'no credentials'}`] : []),
    ].join('; '),
  )
  return lines.map((line) => printable(line)).join('\n            ') || null
}

function settingsWords({ maxTokens, temperature }: Omit<ModelSettings, 'thinking'>): string | null {
  const words = [
    ...(maxTokens === undefined ? [] : [`at most ${maxTokens} tokens a reply`]),
    ...(temperature === undefined ? [] : [`temperature ${temperature}`]),
  ]
  return words.join(', ') || null
}

function modelWords(model: TurnModel): string | null {
  const clamped = clampWords(model)
  return [model.actual && printable(model.actual), clamped].filter(Boolean).join(', ') || null
}

function messageText(here: CommandContext, message: Message): string {
  const origin = [message.source ?? 'human', ...(message.outerRef === undefined ? [] : [printable(message.outerRef)])]
  const who = message.role === 'assistant' ? 'assistant' : `${message.role} (${origin.join(', ')})`
  const parts = (message.parts ?? []).map((part) => `[${printable(describePart(part))}]`)
  return [paint(here.screen, 'bold', who), printable(message.content, { lines: true }), ...parts].join('\n')
}

function runPage(here: CommandContext, run: RunView): string {
  const { budget } = run
  const head = facts(here.screen, `run:${run.id}`, [
    ['kind', run.runKind + (run.agent === undefined ? '' : `, ${printable(run.agent)}`)],
    ['chosen', run.routedBy === undefined ? null : printable(run.routedBy)],
    ['lane', run.lane],
    ['state', `${run.state}${run.finishedAt === null ? `, ${printable(run.doing)}` : ''}`],
    ['session', run.session && printable(run.session)],
    ['parent', run.parentRunId && `run:${run.parentRunId}`],
    ['profile', run.profile && `${printable(run.profile.id)}, version ${run.profile.version}`],
    ['model', modelWords(run.model)],
    ['began', run.createdAt],
    ['ended', run.finishedAt],
    ['tried', run.crashes + run.tries > 0 ? `${run.crashes} crashes, ${run.tries} retries` : null],
    ['spent', `${formatTokenCounts(run.usage)}, ${formatMoney(run.usage)}`],
    [
      'request',
      `${formatMoney(budget.request)} of $${budget.usd}, ${formatTokenCounts(budget.request)} of ${budget.tokens} tokens`,
    ],
    ['models', run.ceiling.models?.map((name) => printable(name)).join(', ') || null],
    ['skills', namesWords(run.ceiling.skills)],
    ['servers', namesWords(run.ceiling.mcpServers)],
    ['tools', run.effectiveTools.map((name) => printable(name)).join(', ') || null],
    ['error', run.error ? `${printable(run.error.message)}\n${' '.repeat(10)}→ ${printable(run.error.remedy)}` : null],
    ['turn', run.turnId && `turn:${run.turnId}`],
    ['result', run.result ? `result:${run.result.id}` : null],
    ['files', run.files.map(({ path, undone }) => printable(path) + (undone ? ' (undone)' : '')).join(', ') || null],
    ['next', nextOf(run)],
  ])
  const steps = run.steps.map(({ seq, kind, name, status, at }) => [
    `  ${seq}`,
    at === null ? '–' : at.slice(11, 19),
    stepWords[kind] ?? kind,
    printable(name ?? ''),
    status ?? '',
  ])
  const commands =
    run.commands.length === 0 ? [] : [paint(here.screen, 'dim', 'commands'), ...commandLines(run.commands)]
  return [head, ...commands, ...(steps.length === 0 ? [] : [table(here.screen, steps, 3)])].join('\n')
}

/** Names that a run is limited to; null if nothing limits it. */
function namesWords(names: readonly string[] | undefined): string | null {
  return names ? names.map((name) => printable(name)).join(', ') || 'none' : null
}

/** Step kinds as a user says them. */
const stepWords: Partial<Record<string, string>> = { begun: 'call', ended: 'done' }

function nextOf({ id, finishedAt, files }: RunView): string | null {
  if (finishedAt === null) return `heddle watch run:${shortId(id)}`
  return files.some(({ undone }) => !undone) ? `heddle undo run:${shortId(id)}` : null
}
