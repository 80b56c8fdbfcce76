import type { ProfileView } from '../../api/profiles.ts'
import { describeLimits } from '../../commands/profiles.ts'
import { type CommandContext, type CommandResult, type Register, rareGroup } from '../command.ts'
import { wholeNumber } from '../input/counts.ts'
import { asObject, readJsonFile } from '../input/json-file.ts'
import { describeAuthor, versionLines } from '../pages/policy-page.ts'
import { facts } from '../terminal/facts.ts'
import { formatAge, printable, table } from '../terminal/screen.ts'

/** What agents may use: models, skills, context window, system prompt and limits. */
export const registerProfiles: Register = (program, run) => {
  const list = run(async (here) => {
    const profiles = await (await here.client()).profiles()
    const rows = profiles.map((profile) => [
      profile.id,
      `version ${profile.version}`,
      printable(describeLimits(profile)),
    ])
    const none = 'no profiles yet    heddle profiles set profile:ID --file FILE'
    return { json: { profiles }, text: rows.length > 0 ? table(here.screen, rows, 2) : none }
  })
  const profiles = program
    .command('profiles')
    .helpGroup(rareGroup)
    .description('what agents may use: models, skills, limits')
    .addHelpText(
      'after',
      '\nExample of a file: { "model": { "model": "main" }, "contextWindow": 32000 }\ndocs/guide/profiles.md has every field.',
    )
    .action(list)
  profiles.command('list').alias('ls').description('all profiles').action(list)
  profiles
    .command('show <id>')
    .description('one profile, with all that it allows')
    .action(
      run(async (here, [id = '']) => {
        const profile = await (await here.client()).profile(id)
        return { json: profile, text: profilePage(here, profile) }
      }),
    )
  profiles
    .command('set <id>')
    .description('write a profile, new or changed')
    .requiredOption('--file <file>', 'its value as JSON, or what heddle profiles show --json prints')
    .option('--expect <version>', 'fail if the profile is at another version; 0: if it exists')
    .action(run((here, [id = ''], options) => set(here, id, options)))
  profiles
    .command('rm <id>')
    .alias('delete')
    .description('remove a profile that no agent uses')
    .action(
      run(async (here, [id = '']) => {
        const { version } = await (await here.client()).deleteProfile(id)
        return { json: { ok: true, version }, text: `${printable(id)} is removed` }
      }),
    )
  profiles
    .command('history <id>')
    .description('who changed a profile, and when')
    .action(
      run(async (here, [id = '']) => {
        const versions = await (await here.client()).profileHistory(id)
        const none = `there never was a profile ${printable(id)}    heddle profiles`
        return { json: { versions }, text: versionLines(here, versions) || none }
      }),
    )
}

async function set(here: CommandContext, id: string, options: Record<string, unknown>): Promise<CommandResult> {
  const given = readJsonFile(here, String(options['file']))
  const shown = asObject(given)
  const isView = shown !== undefined && 'version' in shown && 'updatedBy' in shown
  const { id: _id, version, updatedAt: _at, updatedBy: _by, ...value } = isView ? shown : {}
  const expected =
    options['expect'] === undefined
      ? typeof version === 'number'
        ? version
        : undefined
      : wholeNumber(options['expect'], { what: 'version', min: 0 })
  const profile = await (await here.client()).setProfile(id, isView ? value : given, expected)
  return {
    json: { ok: true, ...profile },
    text: `${printable(id)} is at version ${profile.version}    heddle profiles show ${printable(id)}`,
  }
}

function profilePage(here: CommandContext, profile: ProfileView): string {
  const { model, limits = {}, systemPrompt } = profile
  const names = (list: readonly string[] | undefined) => (list ? printable(list.join(', ')) || 'none' : null)
  const rows: [string, string | null][] = [
    [
      'model',
      [model.provider, model.model]
        .filter(Boolean)
        .map((name) => printable(String(name)))
        .join(' ') || 'default',
    ],
    ['models', names(profile.allowedModels)],
    ['skills', names(profile.allowedSkills)],
    ['mcp servers', names(profile.allowedMcpServers)],
    ['window', profile.contextWindow === undefined ? null : `${profile.contextWindow} tokens`],
    ['timeout', limits.timeoutSeconds === undefined ? null : `${limits.timeoutSeconds} s`],
    ['reply', limits.maxTokens === undefined ? null : `${limits.maxTokens} tokens`],
    ['tools', limits.permissions ? printable(JSON.stringify(limits.permissions)) : null],
    [
      'changed',
      `version ${profile.version}, ${describeAuthor(profile.updatedBy)}, ${formatAge(profile.updatedAt, here.clock.now())}`,
    ],
  ]
  const prompt = systemPrompt === undefined ? [] : ['', printable(systemPrompt, { lines: true })]
  return [facts(here.screen, printable(profile.id), rows), ...prompt].join('\n')
}
