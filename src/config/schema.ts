import * as z from 'zod/mini'
import { checkTimezone } from '../domain/jobs/schedule.ts'
import { thinkingLevels } from '../domain/message.ts'
import { shareModes } from '../domain/subagent.ts'
import type { ConfigPath } from './path.ts'

export const durabilities = ['full', 'normal'] as const
export const providers = ['anthropic', 'openai', 'google', 'openai-compatible'] as const
/** Who chooses the agent of a message that names none: the answering agent, or the words of the message. */
export const routings = ['model', 'tags'] as const
export const schedulings = ['auto', 'coordinator'] as const
export const planGates = ['ask', 'auto', 'always'] as const
export const sandboxes = ['on', 'off'] as const

/** Name of the demo script that answers while there is no model. It can be chosen, but never as a fallback. */
export const rehearsal = 'rehearsal'

/** Node itself closes an idle connection after this time. */
const maxIdleSeconds = 300

// By zod/mini: every command loads this, and schemas with methods take three times as long to make and to run once.
// Each error completes a sentence that begins with the path: "`agents.maxConcurrent` at line 4 must be …".
const text = (must = 'must be text') => z.string({ error: must }).check(z.minLength(1, { error: must }))
const yesOrNo = () => z.boolean({ error: 'must be true or false' })
const choice = <const T extends readonly string[]>(values: T) =>
  z.enum(values, { error: `must be ${values.slice(0, -1).join(', ')} or ${values.at(-1)}` })

function integerBetween(min: number, max = Number.MAX_SAFE_INTEGER) {
  const end = max === Number.MAX_SAFE_INTEGER ? '' : ` and at most ${max}`
  const error = `must be a whole number of at least ${min}${end}`
  return z.int({ error }).check(z.minimum(min, { error }), z.maximum(max, { error }))
}

function amount() {
  const error = 'must be a number of at least 0'
  return z.number({ error }).check(z.minimum(0, { error }))
}

function matching(pattern: RegExp, must: string) {
  return z.string({ error: must }).check(z.regex(pattern, { error: must }))
}

const names = (of: string) => z.array(text(), { error: `must be a list of ${of}, such as [one, two]` })
const absolutePath = () => matching(/^(?:\/|~$|~\/)/, 'must be an absolute path that starts with / or ~/')
const address = () => matching(/^https?:\/\/[^\s/]+/, 'must be an address that starts with http:// or https://')
const apiKey = () => text('must be text, best a reference to an environment variable')
const originRule = 'must be an address without a path, such as http://127.0.0.1:8080'
const credentialRule = 'must be a list of names such as [GITHUB_TOKEN], each a secret or an environment variable'
/** Variables that the runtime sets itself, or by which a variable changes what programs run. */
const ownVariables = /^(?:PATH|HOME|LANG|TERM|ENV|BASH_ENV|SHELLOPTS|BASHOPTS|IFS|LD_.*|NODE_OPTIONS)$/
const credentialNames = () =>
  z.array(
    matching(/^[A-Za-z_]\w{0,99}$/, credentialRule).check(
      z.refine((name) => !ownVariables.test(name), {
        error: 'cannot be a variable that commands need for themselves',
      }),
    ),
    { error: credentialRule },
  )
const origins = () =>
  z.array(z.string({ error: originRule }).check(z.refine(isOrigin, { error: originRule })), {
    error: 'must be a list of addresses, such as [http://127.0.0.1:8080]',
  })
/** Valid model aliases. */
export const modelName = matching(
  /^(?!(?:constructor|prototype)$)[A-Za-z0-9][A-Za-z0-9._:-]*$/,
  'is not a name: use letters, digits, . _ : and -',
)
const sectionRule = { error: 'must be a section with keys of its own' }

function orEmpty<T extends z.core.$ZodType>(schema: T) {
  const part = z.transform((value: unknown) => value ?? {})
  const made: z.core.$ZodType = new z.core.$ZodPreprocess({ type: 'pipe', in: part, out: schema })
  return made as z.core.$ZodPreprocess<T>
}

/** A section with all lines commented out counts as empty, a missing one gets its defaults. */
function section<T extends z.core.$ZodShape>(shape: T) {
  return orEmpty(z.strictObject(shape, sectionRule))
}

const model = z.strictObject(
  {
    provider: choice(providers),
    model: text(),
    apiKey: z.exactOptional(apiKey()),
    baseURL: z.exactOptional(address()),
    contextWindow: z.exactOptional(integerBetween(1)),
    price: z.exactOptional(
      z.strictObject(
        {
          input: amount(),
          output: amount(),
          cacheRead: z.exactOptional(amount()),
          cacheWrite: z.exactOptional(amount()),
        },
        sectionRule,
      ),
    ),
    thinking: z.exactOptional(choice(thinkingLevels)),
    sees: z.exactOptional(yesOrNo()),
    timeout: z.exactOptional(
      z.strictObject(
        { idle: z.exactOptional(integerBetween(1, maxIdleSeconds)), total: z.exactOptional(integerBetween(1)) },
        sectionRule,
      ),
    ),
  },
  sectionRule,
)

const allowedModels = names('names of models').check(z.minLength(1, { error: 'must name at least one model' }))
/** Models by name. `allow` is no model but the list of those that may be used; `brokenLinks` checks the other names. */
const models = z.catchall(z.object({ allow: z.exactOptional(allowedModels) }, sectionRule), model)

const embedder = z.strictObject({ baseURL: address(), model: text(), apiKey: z.exactOptional(apiKey()) }, sectionRule)

const webhook = z.strictObject(
  { url: address(), secret: text('must be text, best a reference to an environment variable') },
  sectionRule,
)

const hostName = /^(?!.*\.$)[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?$/
const hostRule = 'must be a list of names without a port, such as [heddle.example.org]'
const databaseRule = 'must be sqlite or an address that starts with postgres://'
const zoneRule = 'must be a time zone, such as Europe/Berlin'

/** Every key of `heddle.yaml` with its rule and default; docs/guide/config.md explains them. */
export const configSchema = z.strictObject(
  {
    name: z._default(text(), 'my-heddle'),
    database: z._default(
      z.string({ error: databaseRule }).check(z.refine(isDatabase, { error: databaseRule })),
      'sqlite',
    ),
    durability: z._default(choice(durabilities), 'full'),
    models: orEmpty(models),
    agent: section({
      model: z.exactOptional(text('must be the name of a model')),
      fallbacks: z._default(names('names of models'), () => []),
      default: z._default(matching(/^@[A-Za-z0-9][\w-]*$/, 'must be an agent, such as "@coordinator"'), '@coordinator'),
      routing: z._default(choice(routings), 'model'),
    }),
    agents: section({
      maxConcurrent: z._default(integerBetween(1), 3),
      defaultTimeout: z._default(integerBetween(1), 300),
      defaults: section({
        subagents: section({
          allowAgents: z.exactOptional(names('agents')),
          model: z.exactOptional(text('must be the name of a model')),
        }),
      }),
    }),
    engine: section({ maxRunning: z._default(integerBetween(1), 16), leaseSeconds: z._default(integerBetween(1), 10) }),
    scheduling: z._default(choice(schedulings), 'auto'),
    plans: z._default(choice(planGates), 'ask'),
    memory: section({
      recall: z._default(yesOrNo(), true),
      most: z._default(integerBetween(100), 100_000),
      files: z._default(yesOrNo(), true),
      narratives: z._default(yesOrNo(), true),
      narrator: z.exactOptional(text('must be the name of a model')),
      embedder: z.exactOptional(embedder),
    }),
    budgets: section({
      perRequest: section({
        usd: z._default(amount(), 5),
        tokens: z._default(integerBetween(1), 2_000_000),
        steps: z._default(integerBetween(1), 200),
      }),
      perDay: section({ usd: z._default(amount(), 20) }),
    }),
    workspace: z._default(absolutePath(), '~/heddle-workspace'),
    skills: z._default(
      z.array(absolutePath(), { error: 'must be a list of folders, such as [~/my-agents]' }),
      () => [],
    ),
    tools: section({
      allow: z.exactOptional(names('tools')),
      deny: z._default(names('tools'), () => []),
      ask: z.exactOptional(names('tools')),
      exec: section({
        sandbox: z._default(choice(sandboxes), 'on'),
        network: z._default(yesOrNo(), false),
        timeoutSeconds: z._default(integerBetween(1), 120),
        maxTimeoutSeconds: z._default(integerBetween(1), 600),
        memoryMB: z._default(integerBetween(64), 4096),
        processes: z._default(integerBetween(8), 512),
        credentials: z._default(credentialNames(), () => []),
      }),
      fetch: section({ allow: z._default(origins(), () => []) }),
      subagents: section({
        maxSpawnDepth: z._default(integerBetween(0), 1),
        maxChildrenPerAgent: z._default(integerBetween(1), 5),
        maxPerTurn: z._default(integerBetween(1), 12),
        maxConcurrent: z._default(integerBetween(1), 8),
        archiveAfterMinutes: z._default(integerBetween(0), 60),
        allowAgents: z.exactOptional(names('agents')),
        model: z.exactOptional(text('must be the name of a model')),
        thinking: z.exactOptional(choice(thinkingLevels)),
        tools: section({ allow: z.exactOptional(names('tools')), deny: z._default(names('tools'), () => []) }),
        memoryShareMode: z._default(choice(shareModes), 'handoff'),
      }),
    }),
    cron: section({
      timezone: z.exactOptional(z.string({ error: zoneRule }).check(z.refine(isTimezone, { error: zoneRule }))),
      maxConcurrent: z._default(integerBetween(1), 4),
    }),
    webhooks: orEmpty(z.record(modelName, webhook, sectionRule)),
    http: section({
      enabled: z._default(yesOrNo(), true),
      bind: z._default(
        matching(/^[A-Za-z0-9.:-]+$/, 'must be an address of this machine, such as 127.0.0.1'),
        '127.0.0.1',
      ),
      port: z.exactOptional(integerBetween(0, 65_535)),
      hosts: z._default(z.array(matching(hostName, hostRule), { error: hostRule }), () => []),
      tls: z.exactOptional(z.strictObject({ cert: absolutePath(), key: absolutePath() }, sectionRule)),
      allowPlain: z._default(yesOrNo(), false),
      requestsPerSecond: z._default(integerBetween(1), 200),
      failuresPerMinute: z._default(integerBetween(1), 20),
    }),
    retention: section({ eventDays: z._default(integerBetween(1), 30) }),
    notify: section({ command: z.exactOptional(text('must be the path of a program')) }),
  },
  sectionRule,
)

function isDatabase(value: string): boolean {
  return value === 'sqlite' || (/^postgres(?:ql)?:\/\//.test(value) && URL.canParse(value))
}

function isTimezone(value: string): boolean {
  try {
    return checkTimezone(value) === value
  } catch {
    return false
  }
}

function isOrigin(value: string): boolean {
  const url = /^https?:\/\/[^\s@?#]+$/i.test(value) ? URL.parse(value) : null
  return url !== null && url.href === `${url.origin}/`
}

/** A valid file after parsing, before keys and folders are resolved. */
export type Settings = z.output<typeof configSchema>

/** Allowed keys of a section; empty if names are free (`models`) or there is no section. */
export function keysAt(path: ConfigPath): string[] {
  const found = schemaAt(path)
  return found instanceof z.ZodMiniObject && !namedKeys(found) ? Object.keys(found.shape) : []
}

/** The longest part of the path that the schema knows. */
export function knownPrefix(path: readonly string[]): readonly string[] {
  let length = path.length
  while (length > 0 && !schemaAt(path.slice(0, length))) length--
  return path.slice(0, length)
}

function schemaAt(path: ConfigPath): z.core.$ZodType | undefined {
  let schema: z.core.$ZodType = configSchema
  for (const part of path) {
    let inner: z.core.$ZodType | undefined
    if (schema instanceof z.ZodMiniObject && Object.hasOwn(schema.shape, part)) inner = schema.shape[part]
    else if (schema instanceof z.ZodMiniObject && modelName.safeParse(part).success) inner = namedKeys(schema)
    if (!inner) return undefined
    schema = unwrap(inner)
  }
  return schema
}

/** Schema of the keys with free names; undefined if a section has none. */
function namedKeys({ def: { catchall } }: z.ZodMiniObject): z.core.$ZodType | undefined {
  return catchall instanceof z.ZodMiniObject ? catchall : undefined
}

/** Unwraps defaults and optionals. */
function unwrap(schema: z.core.$ZodType): z.core.$ZodType {
  if (schema instanceof z.ZodMiniDefault || schema instanceof z.ZodMiniExactOptional)
    return unwrap(schema.def.innerType)
  if (schema instanceof z.core.$ZodPreprocess) return unwrap(schema._zod.def.out)
  return schema
}
