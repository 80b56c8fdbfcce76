import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { stringify } from 'yaml'
import type { HealthCheck } from '../../api/home.ts'
import { agentNamesFor } from '../../app/agents.ts'
import { databaseLocation, missingDatabase } from '../../app/app.ts'
import { examine } from '../../app/home/doctor.ts'
import type { AgentNames, NameChecks } from '../../config/check.ts'
import { configProblems, loadConfig, readConfigText } from '../../config/config.ts'
import { editConfig } from '../../config/edit.ts'
import { configSet } from '../../config/set.ts'
import { configGet, configShow } from '../../config/show.ts'
import { UsageError } from '../../domain/errors.ts'
import { socketName } from '../../gateway/socket-place.ts'
import { ensureHome, homePaths } from '../../home/home.ts'
import { secretReader } from '../../home/secrets.ts'
import { version } from '../../version.ts'
import { type CommandContext, type Register, rareGroup } from '../command.ts'
import { paint, printable, wrapText } from '../terminal/screen.ts'

const group = 'SET UP'

export const registerSetUp: Register = (program, run) => {
  const config = program.command('config').helpGroup(group).description('read and change heddle.yaml')
  config.command('check').description('validate heddle.yaml').action(run(checkFile))
  config
    .command('show', { isDefault: true })
    .description('print all settings; secrets are redacted')
    .action(
      run(async (here) => {
        const shown = configShow(await load(here))
        return { json: { ok: true, file: here.configFile, config: shown }, text: stringify(shown) }
      }),
    )
  config
    .command('get <key>')
    .description('print one setting, such as agents.maxConcurrent')
    .action(
      run(async (here, [key = '']) => {
        const value = configGet(await load(here), key) ?? null
        return { json: { ok: true, key, value }, text: typeof value === 'string' ? value : JSON.stringify(value) }
      }),
    )
  config
    .command('set <key> <value>')
    .description('change one setting; checked first, the previous version is kept')
    .addHelpText('after', '\nExample: heddle config set agents.maxConcurrent 5')
    .action(
      run(async (here, [key = '', value = '']) => {
        await ensureHome(here.home)
        // Only what is changed: a wrong name elsewhere must not keep the user from mending this one.
        const names = { toolsBelow: key, ...(key === 'agent.default' && { agentNames: agentNamesAt(here) }) }
        await configSet(here.configFile, key, value, { ...replaceOptions(here), names })
        const now = configGet(await load(here), key) ?? null
        return {
          json: { ok: true, key, value: now },
          text: `${key} is now ${JSON.stringify(now)}    ${here.configFile}`,
        }
      }),
    )
  config
    .command('edit')
    .description('edit in $EDITOR; saved only if valid')
    .action(
      run(async (here) => {
        await ensureHome(here.home)
        const { changed } = await editConfig(here.configFile, (copy) => runEditor(here, copy, 'config edit'), {
          ...replaceOptions(here),
          names: namesAt(here),
        })
        return { json: { ok: true, changed }, text: changed ? `${here.configFile} is changed` : 'nothing was changed' }
      }),
    )

  program
    .command('doctor')
    .helpGroup(group)
    .description('check the installation; changes nothing')
    .option('--deep', 'send every model a long prompt; costs a few thousand tokens on paid models')
    .action(run((here, _args, options) => doctor(here, options['deep'] === true)))

  program
    .command('init')
    .helpGroup(rareGroup)
    .description('create the home; existing files are kept')
    .action(
      run(async (here) => {
        const { path, created, kept } = await ensureHome(here.home)
        const config = await load(here).catch(() => undefined)
        const gone = config && (await missingDatabase({ paths: homePaths(here.home), config }))
        const complete = gone ? [] : [`${path} is complete already`]
        const text = [
          ...(created.length > 0 ? [`created in ${path}:\n  ${created.join('\n  ')}`] : complete),
          `${kept.length} kept unchanged`,
          ...(gone ? [`${gone.message}\n  → ${gone.remedy}`] : []),
        ].join('\n')
        const error = gone && { code: gone.code, message: gone.message, remedy: gone.remedy }
        return { json: { ok: !gone, home: path, created, kept, ...(error && { error }) }, text, code: gone ? 1 : 0 }
      }),
    )
}

async function checkFile(here: CommandContext) {
  const text = await readConfigText(here.configFile)
  const problems = text === undefined ? [] : configProblems(text, here.env, namesAt(here))
  const lines = problems.map(({ line, message, remedy }) => `${here.configFile}:${line} ${message}\n  → ${remedy}`)
  const fine = text === undefined ? `no file ${here.configFile}: every default applies` : `${here.configFile} is valid`
  return {
    json: { ok: problems.length === 0, file: here.configFile, problems },
    text: problems.length === 0 ? fine : lines.join('\n'),
    code: problems.length === 0 ? 0 : 1,
  }
}

async function doctor(here: CommandContext, isDeep: boolean) {
  const paths = homePaths(here.home)
  const checks = await examine({
    home: here.home,
    paths,
    configFile: here.configFile,
    env: here.env,
    userHome: here.userHome,
    nodeVersion: process.version,
    daemon: {
      find: async () => {
        const daemon = await here.daemon()
        return daemon && { ...daemon.health, socket: daemon.place }
      },
      socket: socketName(paths.run),
      version,
    },
    clock: here.clock,
    isDeep,
    placeOf: (config) => databaseLocation({ paths, config }),
    agentNames: agentNamesAt(here),
  })
  const ok = checks.every(({ status }) => status !== 'fail')
  return { json: { ok, checks }, text: checks.map((check) => finding(here, check)).join('\n'), code: ok ? 0 : 1 }
}

function finding({ screen }: CommandContext, { name, status, detail, remedy }: HealthCheck): string {
  const colour = { ok: 'green', warn: 'yellow', fail: 'red' } as const
  const indent = ' '.repeat(19)
  const line = `${paint(screen, colour[status], status.padEnd(5))} ${name.padEnd(12)} ${printable(detail)}`
  const lines = remedy === undefined ? [line] : [line, `${indent}→ ${printable(remedy)}`]
  if (!screen.isTerminal) return lines.join('\n')
  return lines.flatMap((each) => wrapText(each, screen.columns, { words: true, hang: indent })).join('\n')
}

function namesAt(here: CommandContext): NameChecks {
  return { agentNames: agentNamesAt(here), toolsBelow: 'tools' }
}

/** Names of the agents that may be the default agent in this folder. */
function agentNamesAt({ home, folder, clock, userHome }: CommandContext): AgentNames {
  return agentNamesFor({ paths: homePaths(home), folder, clock, userHome })
}

export function load(here: CommandContext) {
  const secrets = secretReader(homePaths(here.home).secrets)
  return loadConfig(here.configFile, here.env, { userHome: here.userHome, secrets })
}

export function replaceOptions({ env, home, clock, crash }: CommandContext) {
  return { env, clock, previousConfigs: homePaths(home).previousConfigs, crash }
}

export async function runEditor(here: CommandContext, file: string, command: string): Promise<number> {
  const editor = here.env['VISUAL'] || here.env['EDITOR']
  if (!editor) throw new UsageError('no editor is set', `set EDITOR, as in: EDITOR=nano heddle ${command}`)
  // Run by a shell: the setting may have arguments, as in EDITOR="code --wait".
  const child = spawn('/bin/sh', ['-c', `${editor} "$1"`, 'editor', file], {
    stdio: 'inherit',
    cwd: here.io.cwd,
    env: here.env,
  })
  const [code] = (await once(child, 'exit')) as [number | null]
  return code ?? 1
}
