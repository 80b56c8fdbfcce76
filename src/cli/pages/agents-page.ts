import { type Agent, type AgentDiagnostic, isLive } from '../../domain/agent.ts'
import type { AgentEntry } from '../../domain/profiles/registry.ts'
import { paint, printable, type Screen, truncateToWidth, width, wrapText } from '../terminal/screen.ts'

const maxNameWidth = 24

/** An agent for lists: everything but its text. */
export function agentRow({ body: _body, extra: _extra, ...row }: Agent): Omit<Agent, 'body' | 'extra'> {
  return row
}

/** Entries without a file that the list shows; of more it tells the number. */
const maxEntries = 60

/** Rows of all agents in one namespace: files with the profile of their entry, then entries without a file. */
export function allAgentRows(agents: readonly Agent[], entries: readonly AgentEntry[]): object[] {
  const byName = entriesByName(entries)
  return [
    ...agents.map((agent) => {
      const entry = isLive(agent) ? byName.get(agent.name) : undefined
      return { ...agentRow(agent), ...(entry && { profileId: entry.profileId, tags: entry.tags }) }
    }),
    ...withoutFile(agents, entries).map(({ agentId, description, profileId, tags }) => ({
      ...{ name: agentId.slice(1), description, triggers: [], tools: [], model: null, path: null },
      ...{ source: 'registry', status: 'ready', promptTokens: 0, diagnostics: [], profileId, tags },
    })),
  ]
}

function entriesByName(entries: readonly AgentEntry[]): ReadonlyMap<string, AgentEntry> {
  return new Map(entries.map((entry) => [entry.agentId.slice(1), entry]))
}

function withoutFile(agents: readonly Agent[], entries: readonly AgentEntry[]): AgentEntry[] {
  const files = new Set(agents.filter(isLive).map(({ name }) => name))
  return entries.filter(({ agentId }) => !files.has(agentId.slice(1)))
}

/** Two lines for each agent: name and description; source, size and tools. */
export function agentList(screen: Screen, agents: readonly Agent[], entries: readonly AgentEntry[]): string {
  const byName = entriesByName(entries)
  const alone = withoutFile(agents, entries)
  const shown = alone.slice(0, maxEntries)
  const names = [...agents.map(({ name }) => name), ...shown.map(({ agentId }) => agentId.slice(1))]
  const room = Math.min(maxNameWidth, Math.max(...names.map((name) => width(printable(name)))))
  const more = alone.length - shown.length
  return [
    ...fileLines(screen, agents, byName, room),
    ...shown.map((entry) => entryLines(screen, entry, room)),
    ...(more > 0 ? [`… and ${more} more    heddle agents export`] : []),
  ].join('\n')
}

function entryLines(screen: Screen, { agentId, description, profileId, tags }: AgentEntry, room: number): string {
  const name = truncateToWidth(printable(agentId.slice(1)), room)
  const more = ['registry', profileId, ...(tags.length > 0 ? [tags.join(', ')] : [])].join(' · ')
  return [
    `${paint(screen, 'bold', name)}${' '.repeat(room - width(name) + 2)}${truncateToWidth(printable(description), screen.columns - room - 2)}`,
    ...wrapText(' '.repeat(room + 2) + paint(screen, 'dim', printable(more)), screen.columns, hanging(room + 2)),
  ].join('\n')
}

function fileLines(
  screen: Screen,
  agents: readonly Agent[],
  entries: ReadonlyMap<string, AgentEntry>,
  room: number,
): string[] {
  return agents.map((agent) => {
    const name = truncateToWidth(printable(agent.name), room)
    const state = agentState(agent)
    const left = screen.columns - room - 2 - (state === '' ? 0 : state.length + 2)
    const description = truncateToWidth(printable(oneLineOf(agent)), left)
    const weight = `${agent.promptTokens} tokens`
    const more = [
      agent.source,
      weight,
      ...(agent.model === null ? [] : [agent.model]),
      toolCell(agent),
      ...profileOf(agent, entries),
    ].join(' · ')
    const indent = ' '.repeat(room + 2)
    return [
      `${paint(screen, 'bold', name)}${' '.repeat(room - width(name) + 2)}${painted(screen, agent, state)}${description}`,
      ...wrapText(indent + paint(screen, 'dim', printable(more)), screen.columns, hanging(room + 2)),
    ].join('\n')
  })
}

function profileOf(agent: Agent, entries: ReadonlyMap<string, AgentEntry>): string[] {
  const entry = isLive(agent) ? entries.get(agent.name) : undefined
  return entry ? [entry.profileId] : []
}

/** Counts of agents that are not simply ready, by state. */
export function agentCounts(agents: readonly Agent[], elsewhere: number): string {
  const count = (is: (agent: Agent) => boolean) => agents.filter(is).length
  const states = [
    [count((agent) => agent.status === 'broken'), 'broken'],
    [count((agent) => agent.status === 'untrusted'), 'untrusted'],
    [count((agent) => agent.status === 'degraded' && isLive(agent)), 'degraded'],
    [count((agent) => agent.shadowedBy !== undefined), 'not used'],
    [elsewhere, elsewhere === 1 ? 'note on the directories' : 'notes on the directories'],
  ] as const
  return states.flatMap(([number, word]) => (number > 0 ? [`${number} ${word}`] : [])).join(', ')
}

/** Facts about one agent, without its text; `entry` is its own in the registry. */
export function agentFacts(screen: Screen, agent: Agent, entry?: AgentEntry): string {
  return titledFacts(screen, agent.name, [
    ['what', agent.description],
    ['when', agent.triggers.join('; ') || null],
    ['tools', toolCell(agent)],
    ['asks', agent.ask.length > 0 ? `before each ${agent.ask.join(', ')}: ${agent.limits.join(', ')}` : null],
    ['model', agent.model ?? 'default'],
    ['size', `about ${agent.promptTokens} tokens`],
    ['state', agent.shadowedBy === undefined ? agent.status : `${agent.status}, not used`],
    ['from', `${agent.source}, ${agent.format}`],
    ['file', agent.path],
    ['sha256', agent.hash || null],
    ['other', Object.keys(agent.extra).join(', ') || null],
    ...(entry ? entryRows(entry) : []),
  ])
}

/** Facts about an agent that only has an entry in the registry. */
export function entryFacts(screen: Screen, entry: AgentEntry): string {
  const rows = entryRows(entry)
  return titledFacts(screen, entry.agentId.slice(1), [['what', entry.description], ...rows, ['from', 'the registry']])
}

function entryRows({ profileId, tags, allowedForwardSkills, allowedMcpServers }: AgentEntry): [string, string][] {
  return [
    ['profile', profileId],
    ['tags', tags.join(', ')],
    ['skills', allowedForwardSkills.join(', ')],
    ['mcp', allowedMcpServers.join(', ')],
  ]
}

function titledFacts(screen: Screen, name: string, rows: readonly [string, string | null][]): string {
  const lines = rows.flatMap(([title, value]) =>
    value === null || value === ''
      ? []
      : wrapText(`${paint(screen, 'dim', title.padEnd(7))}  ${printable(value)}`, screen.columns, hanging(9)),
  )
  return [paint(screen, 'yellow', `@${printable(name)}`), ...lines].join('\n')
}

/** Diagnostics of a file or directory, one per line with its remedy. */
export function findingLines(
  screen: Screen,
  diagnostics: readonly AgentDiagnostic[],
  { paths = false } = {},
): string[] {
  const colour = { error: 'red', warning: 'yellow', note: 'dim' } as const
  return diagnostics.flatMap(({ level, message, path, line, remedy }) => {
    const place = [...(paths ? [path] : []), ...(line === undefined ? [] : [`line ${line}`])].join(' ')
    const finding = `  ${paint(screen, colour[level], level.padEnd(7))} ${printable(place && `${place}: `)}${printable(message)}`
    const advice =
      remedy === undefined ? [] : wrapText(`${' '.repeat(10)}→ ${printable(remedy)}`, screen.columns, hanging(12))
    return [...wrapText(finding, screen.columns, hanging(10)), ...advice]
  })
}

/** Agents with diagnostics, each with all of them. */
export function findingPages(screen: Screen, agents: readonly Agent[]): string[] {
  return agents
    .filter(({ diagnostics }) => diagnostics.length > 0)
    .map((agent) => {
      const head = `${painted(screen, agent, agentState(agent))}${paint(screen, 'bold', printable(agent.name))}`
      return [`${head}  ${printable(agent.path)}`, ...findingLines(screen, agent.diagnostics)].join('\n')
    })
}

function hanging(columns: number) {
  return { words: true, hang: ' '.repeat(columns) }
}

/** Its description, or the error if it is broken. */
function oneLineOf({ status, description, diagnostics }: Agent): string {
  const wrong = status === 'broken' ? diagnostics.find(({ level }) => level === 'error') : undefined
  return wrong ? `${wrong.message}${wrong.line === undefined ? '' : ` (line ${wrong.line})`}` : description
}

function toolCell({ tools }: Agent): string {
  return tools.length > 0 ? tools.join(', ') : 'no tools'
}

function agentState(agent: Agent): string {
  if (agent.shadowedBy !== undefined) return 'NOT USED'
  return agent.status === 'ready' ? '' : agent.status.toUpperCase()
}

function painted(screen: Screen, { status }: Agent, state: string): string {
  return state === '' ? '' : `${paint(screen, status === 'broken' ? 'red' : 'yellow', state)}  `
}
