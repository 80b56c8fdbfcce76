import { describeRehearsal, modelFacts, type Origin, rehearsalPieces, tableDate, tryNamed } from '../app-models.ts'
import type { Config, NamedModel } from '../config/config.ts'
import { redact } from '../config/redact.ts'
import { rehearsal } from '../config/schema.ts'
import { configSet } from '../config/set.ts'
import { HeddleError } from '../domain/errors.ts'
import { nearest } from '../domain/nearest.ts'
import type { Answer, Here, Register } from './cli.ts'
import { addModel } from './models-add.ts'
import { paint, printable, table } from './screen.ts'
import { load, replaceOptions } from './set-up.ts'
import { trialLines, undo } from './trial-lines.ts'

export const registerModels: Register = (program, run) => {
  const models = program.command('models').helpGroup('SET UP').description('who thinks: list, add, test, switch')
  models.command('list', { isDefault: true }).alias('ls').description('every model').action(run(list))
  models
    .command('add [what]')
    .description('anthropic, openai, google, ollama, or the address of a compatible server')
    .option('--name <name>', 'what to call it')
    .option('--model <model>', 'the model, as its provider names it')
    .option('--base-url <url>', 'another address than the usual one')
    .option('--key-env <variable>', 'an environment variable that holds the key')
    .option('--key <->', '- reads the key from standard input')
    .option('--window <tokens>', 'the context window to use')
    .option('-y, --yes', 'take what is found without asking')
    .addHelpText('after', '\nExample: heddle models add anthropic')
    .action(run((here, [what], options) => addModel(here, what, options)))
  models
    .command('use <name>')
    .description('switch to a model; asked unless you name another')
    .action(run((here, [name = '']) => use(here, name)))
  models
    .command('test <name>')
    .description('ask it for text, a tool call and a long read; costs a little where one pays')
    .action(run((here, [name = '']) => test(here, name)))
  models
    .command('show <name>')
    .description('everything known of one')
    .action(run((here, [name = '']) => show(here, name)))
}

async function list(here: Here): Promise<Answer> {
  const config = await load(here)
  const rows = Object.entries(config.models).map(([name, named]) => ({
    name,
    provider: named.provider,
    model: named.model,
    window: modelFacts(named).window,
    status: statusOf(named),
  }))
  const chosen = config.agent.model ?? rehearsal
  const lines = rows.map(({ name, provider, model, window, status }) => [
    `${name === chosen ? '*' : ' '} ${name}`,
    printable(model),
    provider,
    figure(window),
    [status === 'ready' ? '' : 'NO KEY', placeIn(config, name)].filter((each) => each !== '').join(', '),
  ])
  const empty = `none yet: ${rehearsal} stands in    heddle models add`
  return {
    json: { models: rows, default: chosen },
    text: rows.length === 0 ? empty : table(here.screen, [['  name', 'model', 'provider', 'window', ''], ...lines], 1),
  }
}

async function use(here: Here, name: string): Promise<Answer> {
  const config = await load(here)
  if (name !== rehearsal) namedModel(config, name)
  const before = config.agent.model ?? rehearsal
  await configSet(here.configFile, 'agent.model', JSON.stringify(name), replaceOptions(here))
  return {
    json: { ok: true, default: name, before },
    text: `${name} is used now (was ${before})    ${undo(before, name)}`,
  }
}

async function test(here: Here, name: string): Promise<Answer> {
  const config = await load(here)
  const trial = await tryNamed(name, namedModel(config, name), here.clock, here.stopped)
  const ok = trial.checks.every((check) => check.ok)
  return { json: { ok, name, ...trial }, text: trialLines(here, trial), code: ok ? 0 : 1 }
}

async function show(here: Here, name: string): Promise<Answer> {
  const config = await load(here)
  if (name === rehearsal)
    return { json: { name, provider: 'script', repertoire: rehearsalPieces() }, text: describeRehearsal() }
  const named = namedModel(config, name)
  const { window, windowFrom, price, priceFrom, sees, readsPdf, thinks, ...more } = modelFacts(named)
  // Somebody may have put a password into it.
  const baseURL = redact(more.baseURL)
  const status = statusOf(named)
  const key = named.apiKey?.written ?? null
  const facts = { window, windowFrom, price, priceFrom, sees, readsPdf, thinks: thinks ?? null }
  const row = (title: string, value: string) => `${paint(here.screen, 'dim', title.padEnd(9))}${value}`
  const told = (origin: Origin) =>
    ({
      yours: 'as you set it',
      listed: `published, as of ${tableDate}`,
      free: 'your own machine',
      assumed: 'ASSUMED: nobody told; set it in heddle.yaml',
    })[origin]
  const text = [
    row('model', `${printable(named.model)}  ${named.provider}  ${printable(baseURL)}`),
    row('status', status === 'ready' ? 'ready' : 'the key is missing'),
    row('key', key === null ? 'none' : printable(key)),
    row('window', `${figure(window)} tokens  ${told(windowFrom)}`),
    row('price', `$${price.input} in, $${price.output} out a million tokens  ${told(priceFrom)}`),
    row('thinks', named.thinking ?? (thinks === false ? 'no' : 'as its provider sets it')),
    row('sees', `${sees ? 'pictures' : 'no pictures'}${readsPdf ? ', PDF' : ''}`),
    row('used', `${placeIn(config, name) || 'when asked'}    heddle models use ${name}`),
  ].join('\n')
  const { provider, model } = named
  return { json: { name, provider, model, baseURL, status, key, ...facts, default: config.agent.model === name }, text }
}

function namedModel({ models }: Config, name: string): NamedModel {
  const found = Object.hasOwn(models, name) ? models[name] : undefined
  if (found) return found
  const close = nearest(name, Object.keys(models))
  throw new HeddleError(
    'model_unknown',
    `there is no model "${printable(name)}"`,
    close ? `did you mean ${close}?` : 'heddle models lists them, heddle models add adds one',
  )
}

function statusOf({ apiKey }: NamedModel): 'ready' | 'key_missing' {
  return apiKey && !apiKey.isThere ? 'key_missing' : 'ready'
}

function placeIn({ agent }: Config, name: string): string {
  if (agent.model === name) return 'default'
  const place = agent.fallbacks.indexOf(name)
  return place === -1 ? '' : `fallback ${place + 1}`
}

function figure(count: number): string {
  return count.toLocaleString('en')
}
