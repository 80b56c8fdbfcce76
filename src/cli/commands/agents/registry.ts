import type { Command } from 'commander'
import type { AgentEntry, AgentEntryInput, AgentRegistry } from '../../../domain/profiles/registry.ts'
import type { ActionRunner, CommandContext, CommandResult } from '../../command.ts'
import { commaNames } from '../../input/comma-names.ts'
import { wholeNumber } from '../../input/counts.ts'
import { asObject, readJsonFile } from '../../input/json-file.ts'
import { versionLines } from '../../pages/policy-page.ts'
import { printable, truncateToWidth } from '../../terminal/screen.ts'

/** Changed agents that `apply` shows by name; of more it tells the number. */
const maxShown = 30

/** Commands about the registry: which agents there are to delegate to, and what each may use. */
export function addRegistryCommands(agents: Command, run: ActionRunner): void {
  agents
    .command('register <agentId>')
    .description('add an agent to delegate to, with a profile')
    .requiredOption('--profile <id>', 'what it may use: heddle profiles lists them')
    .requiredOption('--description <text>', 'what it is for, in at most 300 characters: models choose by it')
    .option('--tags <names>', 'separated by commas')
    .option('--skills <names>', 'agent files whose instructions it may be given, separated by commas')
    .option('--mcp-servers <names>', 'MCP servers it may use, separated by commas')
    .addHelpText(
      'after',
      '\nExample: heddle agents register @poet --profile profile:writer:v1 \\\n           --description "Writes poems."',
    )
    .action(run(register))
  agents
    .command('unregister <agentId>')
    .description('remove an agent from the registry; its file and its profile stay')
    .action(
      run(async (here, [agentId = '']) => {
        const id = asAgentId(agentId)
        const { version } = await (await here.client()).unregisterAgent(id)
        return { json: { ok: true, version }, text: `${id} is no longer registered    version ${version}` }
      }),
    )
  agents
    .command('export')
    .description('print the registry as JSON, to edit and apply')
    .addHelpText('after', '\nExample: heddle agents export --json > agents.json')
    .action(
      run(async (here) => {
        const view = await (await here.client()).agentRegistry()
        return { json: view, text: JSON.stringify(view.registry, null, 2) }
      }),
    )
  agents
    .command('apply <file>')
    .description('replace the registry with a JSON file, and show what changes')
    .option('--expect <version>', 'fail if the registry is at another version')
    .option('--dry-run', 'show what would change, and change nothing')
    .addHelpText(
      'after',
      '\nThe file is what heddle agents export prints. What heddle agents export --json\nprints has the version, too: it is refused once the registry has changed.',
    )
    .action(run(apply))
  agents
    .command('history')
    .description('who changed the registry, and when')
    .action(
      run(async (here) => {
        const versions = await (await here.client()).registryHistory()
        return {
          json: { versions },
          text: versionLines(here, versions) || 'there is no registry yet    heddle agents register @NAME …',
        }
      }),
    )
}

async function register(
  here: CommandContext,
  [agentId = '']: string[],
  options: Record<string, unknown>,
): Promise<CommandResult> {
  const names = (option: string) => (options[option] === undefined ? undefined : commaNames(String(options[option])))
  const [tags, skills, servers] = [names('tags'), names('skills'), names('mcpServers')]
  const entry: AgentEntryInput = {
    agentId: asAgentId(agentId),
    profileId: String(options['profile']),
    description: String(options['description']),
    ...(tags && { tags }),
    ...(skills && { allowedForwardSkills: skills }),
    ...(servers && { allowedMcpServers: servers }),
  }
  const { version } = await (await here.client()).registerAgent(entry)
  return {
    json: { ok: true, version },
    text: `${entry.agentId} is registered with ${printable(entry.profileId)}    version ${version}`,
  }
}

async function apply(
  here: CommandContext,
  [file = '']: string[],
  options: Record<string, unknown>,
): Promise<CommandResult> {
  const client = await here.client()
  const given = readJsonFile(here, file)
  const wrapped = asObject(given)
  const isView = wrapped !== undefined && 'registry' in wrapped
  const registry = isView ? wrapped['registry'] : given
  const before = await client.agentRegistry()
  const expected =
    options['expect'] === undefined
      ? isView && typeof wrapped['version'] === 'number'
        ? wrapped['version']
        : before.version
      : wholeNumber(options['expect'], { what: 'version', min: 0 })
  if (options['dryRun'] === true) {
    const changes = compareRegistries(before.registry, registry)
    return { json: { ok: true, version: before.version, changes, dryRun: true }, text: changeText(changes, 'would be') }
  }
  const after = await client.setAgentRegistry(registry, expected)
  const changes = compareRegistries(before.registry, after.registry)
  return {
    json: { ok: true, version: after.version, changes },
    text: `${changeText(changes, 'is')}    version ${after.version}`,
  }
}

interface RegistryChange {
  agentId: string
  change: 'added' | 'removed' | 'changed'
}

/** What differs, by agent. The new value may be anything: what is wrong with it is told when it is stored. */
function compareRegistries(before: AgentRegistry, after: unknown): RegistryChange[] {
  const listed: unknown = asObject(after)?.['agents']
  const entries = (Array.isArray(listed) ? listed : []).map(asObject).filter((entry) => entry !== undefined)
  const now = new Map(entries.map((entry) => [String(entry['agentId']), entry]))
  const then = new Map(before.agents.map((entry) => [entry.agentId, entry]))
  return [
    ...[...now].flatMap(([agentId, entry]): RegistryChange[] => {
      const old = then.get(agentId)
      if (!old) return [{ agentId, change: 'added' }]
      return isSameEntry(old, entry) ? [] : [{ agentId, change: 'changed' }]
    }),
    ...[...then.keys()].flatMap((agentId): RegistryChange[] =>
      now.has(agentId) ? [] : [{ agentId, change: 'removed' }],
    ),
  ]
}

function isSameEntry(old: AgentEntry, entry: Record<string, unknown>): boolean {
  return Object.entries(old).every(([key, value]) => {
    const given = Object.hasOwn(entry, key) ? entry[key] : []
    return JSON.stringify(given) === JSON.stringify(value)
  })
}

function changeText(changes: readonly RegistryChange[], verb: string): string {
  if (changes.length === 0) return 'nothing changes'
  const lines = changes
    .slice(0, maxShown)
    .map(({ agentId, change }) => `${truncateToWidth(printable(agentId), 40)} ${verb} ${change}`)
  const more = changes.length - lines.length
  return [...lines, ...(more > 0 ? [`… and ${more} more`] : [])].join('\n')
}

/** The id of an agent, with or without its `@`. */
export function asAgentId(text: string): string {
  return text.startsWith('@') ? text : `@${text}`
}
