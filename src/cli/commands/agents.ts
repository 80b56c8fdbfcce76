import { existsSync, readFileSync } from 'node:fs'
import { type Command, Option } from 'commander'
import {
  type Agents,
  agentsInDirectories,
  type HomeAgentsSettings,
  hasRecordedFolders,
  openAgents,
} from '../../app/agents.ts'
import { type Config, loadConfig } from '../../config/config.ts'
import { type Agent, isLive } from '../../domain/agent.ts'
import { UsageError } from '../../domain/errors.ts'
import type { AgentEntry } from '../../domain/profiles/registry.ts'
import { nearest } from '../../domain/text/nearest.ts'
import { homePaths } from '../../home/home.ts'
import { secretReader } from '../../home/secrets.ts'
import type { CommandContext, CommandResult, Register } from '../command.ts'
import {
  agentCounts,
  agentFacts,
  agentList,
  agentRow,
  allAgentRows,
  entryFacts,
  findingLines,
  findingPages,
} from '../pages/agents-page.ts'
import { printable } from '../terminal/screen.ts'
import { editAgent, newAgent, trustAgent } from './agents/edit-agents.ts'
import { findAgent, matchingAgents, noSuchAgent } from './agents/find-agent.ts'
import { addPinCommands } from './agents/pins.ts'
import { addRegistryCommands, asAgentId } from './agents/registry.ts'

export const registerAgents: Register = (program, run) => {
  const agents = program
    .command('agents')
    .alias('skills')
    .helpGroup('SET UP')
    .description('agents: list, add, edit, test, trust, register, pin')
  agents
    .command('list [name]', { isDefault: true })
    .alias('ls')
    .description('all agents here')
    .action(run((here, [name]) => (name === undefined ? list(here) : showOrAdvise(here, name, agents))))
  agents
    .command('show <name>')
    .description('show the file and any problems')
    .action(run((here, [name = '']) => showAgent(here, name)))
  agents
    .command('new <name>')
    .description('create an agent file from a template, in the home')
    .option('--folder', 'in this folder (.heddle/agents), for everyone who works in it')
    .addHelpText('after', '\nExample: heddle agents new release-notes')
    .action(run(async (here, [name = ''], options) => newAgent(here, await openHere(here), name, options)))
  agents
    .command('edit <name>')
    .description('open its file in $EDITOR and check it; a shipped agent is copied to the home first')
    .action(
      run(async (here, [name = '']) => {
        const known = await agentsHere(here)
        return editAgent(here, findAgent(here, openAgents(known), name), () => openAgents(known))
      }),
    )
  agents
    .command('check [what...]')
    .description('check agent files by name or directory; all without a name')
    .addHelpText(
      'after',
      '\nExamples: heddle agents check release-notes\n          heddle agents check ~/.claude/agents',
    )
    .action(run((here, what) => check(here, what)))
  agents
    .command('test [names...]')
    .description('run each agent’s test task with your model; without names all shipped agents')
    .option('-m, --model <name>', 'a model from heddle.yaml')
    .addOption(new Option('--new', 'create a test from a template, next to the agent’s file').conflicts('model'))
    .addHelpText('after', testHelp)
    .action(
      run(async (here, names, options) => {
        const { testAgents } = await import('./agents/agents-test.ts')
        return testAgents(here, await settingsHere(here), names, options)
      }),
    )
  agents
    .command('trust <name>')
    .description('trust this version of an agent file, by name or path')
    .option('-y, --yes', 'do not ask for confirmation')
    .action(run(async (here, [name = ''], options) => trustAgent(here, await openHere(here), name, options)))
  addRegistryCommands(agents, run)
  addPinCommands(agents, run)
}

const testHelp = `
A test is a directory next to the agent's file, with its name: coder.md has
coder.test with task.md (the task), files/ (what it works on) and
checks.json (what must be true afterwards).

Example: heddle agents test coder -m local`

async function list(here: CommandContext): Promise<CommandResult> {
  const known = await agentsHere(here)
  const { agents, diagnostics } = openAgents(known).look(here.folder)
  const entries = await registeredHere(here, known)
  const counts = agentCounts(agents, diagnostics.length)
  const next = counts === '' ? 'heddle agents show NAME    heddle agents new NAME' : `${counts}    heddle agents check`
  // Directories that could not be read are in no list of agents.
  const aboutDirectories =
    diagnostics.length === 0 ? [] : [findingLines(here.screen, diagnostics, { paths: true }).join('\n')]
  const text =
    agents.length + entries.length === 0
      ? 'none yet    heddle agents new NAME'
      : [agentList(here.screen, agents, entries), ...aboutDirectories, defaultAgentLine(known.config), next].join(
          '\n\n',
        )
  return { json: { agents: allAgentRows(agents, entries), diagnostics }, text }
}

/** Agents of the registry; none before there is a database, or if it cannot be read. */
async function registeredHere(here: CommandContext, { config }: { config: Config }): Promise<AgentEntry[]> {
  if (!mayHaveDatabase(here, config)) return []
  try {
    return (await (await here.client()).agentRegistry()).registry.agents
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    here.tell(`cannot read the registry, so only agent files are listed: ${printable(why)}`)
    return []
  }
}

function mayHaveDatabase(here: CommandContext, { database }: Config): boolean {
  return database !== 'sqlite' || existsSync(homePaths(here.home).database)
}

/** The default agent. @coordinator and @general have no file, so the list does not show them. */
function defaultAgentLine({ agent }: Config): string {
  const name = `@${printable(agent.default.replace(/^@/, ''))}`
  const does = name === '@coordinator' ? ' and gives them work; @general works alone' : ''
  return `${name} answers${does}    agent.default`
}

/** `heddle agents coder` shows the agent; any other word is treated as a misspelled subcommand. */
async function showOrAdvise(here: CommandContext, word: string, { commands }: Command): Promise<CommandResult> {
  const known = (await openHere(here)).list(here.folder)
  if (matchingAgents(here, known, word).length > 0 || (await entryHere(here, word))) return showAgent(here, word)
  const close = nearest(
    word,
    commands.map((command) => command.name()),
  )
  if (close) throw new UsageError(`there is no command "${printable(word)}"`, `did you mean: heddle agents ${close}`)
  throw noSuchAgent(known, word)
}

async function showAgent(here: CommandContext, name: string): Promise<CommandResult> {
  const all = await openHere(here)
  const entry = await entryHere(here, name)
  if (entry && matchingAgents(here, all.list(here.folder), name).length === 0)
    return { json: entry, text: entryFacts(here.screen, entry) }
  const agent = findAgent(here, all, name)
  const registered = entry && isLive(agent) ? entry : undefined
  const parts = [
    [agentFacts(here.screen, agent, registered), ...findingLines(here.screen, agent.diagnostics)].join('\n'),
    printable(fileText(agent), { lines: true }),
  ]
  const json = registered ? { ...agent, profileId: registered.profileId, tags: registered.tags } : agent
  return { json, text: parts.filter((part) => part !== '').join('\n\n') }
}

/** The entry of an agent in the registry, if it has one. */
async function entryHere(here: CommandContext, name: string): Promise<AgentEntry | undefined> {
  const entries = await registeredHere(here, await settingsHere(here))
  return entries.find(({ agentId }) => agentId === asAgentId(name))
}

async function check(here: CommandContext, what: string[]): Promise<CommandResult> {
  const known = await agentsHere(here)
  const matches = what.map((word) =>
    existsSync(here.pathOf(word)) ? [] : matchingAgents(here, openAgents(known).list(here.folder), word),
  )
  if (what.length > 0 && matches.every((agents) => agents.length > 0)) return checkNamed(here, matches.flat())
  return checkAgentFiles(here, what, known)
}

function checkNamed(here: CommandContext, agents: Agent[]): CommandResult {
  const ok = agents.every(({ status }) => status !== 'broken')
  const text = agents
    .map((agent) => [agentFacts(here.screen, agent), ...findingLines(here.screen, agent.diagnostics)].join('\n'))
    .join('\n\n')
  return { json: { ok, agents: agents.map(agentRow), diagnostics: [] }, text, code: ok ? 0 : 1 }
}

function checkAgentFiles(here: CommandContext, directories: string[], known: HomeAgentsSettings): CommandResult {
  const { agents, diagnostics } =
    directories.length === 0
      ? openAgents(known).look(here.folder)
      : agentsInDirectories(
          directories.map((path) => here.pathOf(path)),
          known,
        ).look()
  const ok = agents.every(({ status }) => status !== 'broken') && diagnostics.every(({ level }) => level !== 'error')
  const counts = agentCounts(agents, diagnostics.length)
  const sum = `${agents.length} agents${counts === '' ? ', all ready' : `: ${counts}`}`
  const text = [
    ...findingPages(here.screen, agents),
    ...(diagnostics.length === 0 ? [] : [findingLines(here.screen, diagnostics, { paths: true }).join('\n')]),
    agents.length === 0 && directories.length > 0 ? 'no agents: no .md file here has frontmatter' : sum,
  ].join('\n\n')
  return { json: { ok, agents: agents.map(agentRow), diagnostics }, text, code: ok ? 0 : 1 }
}

async function openHere(here: CommandContext): Promise<Agents> {
  return openAgents(await agentsHere(here))
}

/** Settings for agents. Opens the engine once if session folders, which decide about trust, are not recorded yet. */
async function agentsHere(here: CommandContext): Promise<HomeAgentsSettings & { config: Config }> {
  const found = await settingsHere(here)
  if (mayHaveDatabase(here, found.config) && !hasRecordedFolders(found.paths))
    await here.heddle().catch((error: unknown) => {
      const why = error instanceof Error ? error.message : String(error)
      here.tell(`cannot read the folders of your sessions, so agent files in them are shown as trusted: ${why}`)
    })
  return found
}

async function settingsHere(here: CommandContext): Promise<HomeAgentsSettings & { config: Config }> {
  const paths = homePaths(here.home)
  const secrets = secretReader(paths.secrets)
  const config = await loadConfig(here.configFile, here.env, { userHome: here.userHome, secrets })
  return { paths, config, clock: here.clock }
}

/** Text of the file; empty if it is binary or too large. */
function fileText({ path, hash }: Agent): string {
  if (hash === '') return ''
  const text = readFileSync(path, 'utf8')
  return text.includes('\0') || text.length > 1024 * 1024 ? '' : text.trimEnd()
}
