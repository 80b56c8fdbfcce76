import { z } from 'zod'
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

// Each error completes a sentence that begins with the path: "`agents.maxConcurrent` at line 4 must be …".
const text = (must = 'must be text') => z.string({ error: must }).min(1, { error: must })
const flag = () => z.boolean({ error: 'must be true or false' })
const choice = <const T extends readonly string[]>(values: T) =>
  z.enum(values, { error: `must be ${values.slice(0, -1).join(', ')} or ${values.at(-1)}` })

function count(min: number, max = Number.MAX_SAFE_INTEGER) {
  const end = max === Number.MAX_SAFE_INTEGER ? '' : ` and at most ${max}`
  const error = `must be a whole number of at least ${min}${end}`
  return z.int({ error }).min(min, { error }).max(max, { error })
}

function amount() {
  const error = 'must be a number of at least 0'
  return z.number({ error }).min(0, { error })
}

function matching(pattern: RegExp, must: string) {
  return z.string({ error: must }).regex(pattern, { error: must })
}

const names = (of: string) => z.array(text(), { error: `must be a list of ${of}, such as [one, two]` })
const folder = () => matching(/^(?:\/|~$|~\/)/, 'must be an absolute path that starts with / or ~/')
const address = () => matching(/^https?:\/\/[^\s/]+/, 'must be an address that starts with http:// or https://')
const apiKey = () => text('must be text, best a reference to an environment variable')
const originRule = 'must be an address without a path, such as http://127.0.0.1:8080'
const credentialRule = 'must be a list of names such as [GITHUB_TOKEN], each a secret or an environment variable'
/** Variables that the runtime sets itself, or by which a variable changes what programs run. */
const ownVariables = /^(?:PATH|HOME|LANG|TERM|ENV|BASH_ENV|SHELLOPTS|BASHOPTS|IFS|LD_.*|NODE_OPTIONS)$/
const credentialNames = () =>
  z.array(
    matching(/^[A-Za-z_]\w{0,99}$/, credentialRule).refine((name) => !ownVariables.test(name), {
      error: 'cannot be a variable that commands need for themselves',
    }),
    { error: credentialRule },
  )
const origins = () =>
  z.array(z.string({ error: originRule }).refine(isOrigin, { error: originRule }), {
    error: 'must be a list of addresses, such as [http://127.0.0.1:8080]',
  })
/** Valid model aliases. */
export const modelName = matching(
  /^(?!(?:constructor|prototype)$)[A-Za-z0-9][A-Za-z0-9._:-]*$/,
  'is not a name: use letters, digits, . _ : and -',
)
const sectionRule = { error: 'must be a section with keys of its own' }

/** A section with all lines commented out counts as empty, a missing one gets its defaults. */
function section<T extends z.core.$ZodShape>(shape: T) {
  return z.preprocess((value) => value ?? {}, z.strictObject(shape, sectionRule))
}

const model = z.strictObject(
  {
    provider: choice(providers),
    model: text(),
    apiKey: apiKey().exactOptional(),
    baseURL: address().exactOptional(),
    contextWindow: count(1).exactOptional(),
    price: z
      .strictObject(
        {
          input: amount(),
          output: amount(),
          cacheRead: amount().exactOptional(),
          cacheWrite: amount().exactOptional(),
        },
        sectionRule,
      )
      .exactOptional(),
    thinking: choice(thinkingLevels).exactOptional(),
    sees: flag().exactOptional(),
    timeout: z
      .strictObject({ idle: count(1, maxIdleSeconds).exactOptional(), total: count(1).exactOptional() }, sectionRule)
      .exactOptional(),
  },
  sectionRule,
)

const allowedModels = names('names of models').min(1, { error: 'must name at least one model' })
/** Models by name. `allow` is no model but the list of those that may be used; `brokenLinks` checks the other names. */
const models = z.object({ allow: allowedModels.exactOptional() }, sectionRule).catchall(model)

const embedder = z.strictObject({ baseURL: address(), model: text(), apiKey: apiKey().exactOptional() }, sectionRule)

const webhook = z.strictObject(
  { url: address(), secret: text('must be text, best a reference to an environment variable') },
  sectionRule,
)

const hostName = /^(?!.*\.$)[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?$/
const hostRule = 'must be a list of names without a port, such as [heddle.example.org]'
const zoneRule = 'must be a time zone, such as Europe/Berlin'

/** Every key of `heddle.yaml` with its rule and default; docs/guide/config.md explains them. */
export const configSchema = z.strictObject(
  {
    name: text().default('my-heddle'),
    database: z
      .string({ error: 'must be sqlite or an address that starts with postgres://' })
      .refine((value) => value === 'sqlite' || (/^postgres(?:ql)?:\/\//.test(value) && URL.canParse(value)), {
        error: 'must be sqlite or an address that starts with postgres://',
      })
      .default('sqlite'),
    durability: choice(durabilities).default('full'),
    models: z.preprocess((value) => value ?? {}, models),
    agent: section({
      model: text('must be the name of a model').exactOptional(),
      fallbacks: names('names of models').default(() => []),
      default: matching(/^@[A-Za-z0-9][\w-]*$/, 'must be an agent, such as "@coordinator"').default('@coordinator'),
      routing: choice(routings).default('model'),
    }),
    agents: section({
      maxConcurrent: count(1).default(3),
      defaultTimeout: count(1).default(300),
      defaults: section({
        subagents: section({
          allowAgents: names('agents').exactOptional(),
          model: text('must be the name of a model').exactOptional(),
        }),
      }),
    }),
    engine: section({ maxRunning: count(1).default(16), leaseSeconds: count(1).default(10) }),
    scheduling: choice(schedulings).default('auto'),
    plans: choice(planGates).default('ask'),
    memory: section({
      recall: flag().default(true),
      most: count(100).default(100_000),
      files: flag().default(true),
      narratives: flag().default(true),
      narrator: text('must be the name of a model').exactOptional(),
      embedder: embedder.exactOptional(),
    }),
    budgets: section({
      perRequest: section({
        usd: amount().default(5),
        tokens: count(1).default(2_000_000),
        steps: count(1).default(200),
      }),
      perDay: section({ usd: amount().default(20) }),
    }),
    workspace: folder().default('~/heddle-workspace'),
    skills: z.array(folder(), { error: 'must be a list of folders, such as [~/my-agents]' }).default(() => []),
    tools: section({
      allow: names('tools').exactOptional(),
      deny: names('tools').default(() => []),
      ask: names('tools').exactOptional(),
      exec: section({
        sandbox: choice(sandboxes).default('on'),
        network: flag().default(false),
        timeoutSeconds: count(1).default(120),
        maxTimeoutSeconds: count(1).default(600),
        memoryMB: count(64).default(4096),
        processes: count(8).default(512),
        credentials: credentialNames().default(() => []),
      }),
      fetch: section({ allow: origins().default(() => []) }),
      subagents: section({
        maxSpawnDepth: count(0).default(1),
        maxChildrenPerAgent: count(1).default(5),
        maxPerTurn: count(1).default(12),
        maxConcurrent: count(1).default(8),
        archiveAfterMinutes: count(0).default(60),
        allowAgents: names('agents').exactOptional(),
        model: text('must be the name of a model').exactOptional(),
        thinking: choice(thinkingLevels).exactOptional(),
        tools: section({ allow: names('tools').exactOptional(), deny: names('tools').default(() => []) }),
        memoryShareMode: choice(shareModes).default('handoff'),
      }),
    }),
    cron: section({
      timezone: z.string({ error: zoneRule }).refine(isTimezone, { error: zoneRule }).exactOptional(),
      maxConcurrent: count(1).default(4),
    }),
    webhooks: z.preprocess((value) => value ?? {}, z.record(modelName, webhook, sectionRule)),
    http: section({
      enabled: flag().default(true),
      bind: matching(/^[A-Za-z0-9.:-]+$/, 'must be an address of this machine, such as 127.0.0.1').default('127.0.0.1'),
      port: count(0, 65_535).exactOptional(),
      hosts: z.array(matching(hostName, hostRule), { error: hostRule }).default(() => []),
      tls: z.strictObject({ cert: folder(), key: folder() }, sectionRule).exactOptional(),
      allowPlain: flag().default(false),
      requestsPerSecond: count(1).default(200),
      failuresPerMinute: count(1).default(20),
    }),
    retention: section({ eventDays: count(1).default(30) }),
    notify: section({ command: text('must be the path of a program').exactOptional() }),
  },
  sectionRule,
)

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
  return found instanceof z.ZodObject && !namedKeys(found) ? Object.keys(found.shape) : []
}

/** The longest part of the path that the schema knows. */
export function knownPart(path: readonly string[]): readonly string[] {
  let length = path.length
  while (length > 0 && !schemaAt(path.slice(0, length))) length--
  return path.slice(0, length)
}

function schemaAt(path: ConfigPath): z.core.$ZodType | undefined {
  let schema: z.core.$ZodType = configSchema
  for (const part of path) {
    let inner: z.core.$ZodType | undefined
    if (schema instanceof z.ZodObject && Object.hasOwn(schema.shape, part)) inner = schema.shape[part]
    else if (schema instanceof z.ZodObject && modelName.safeParse(part).success) inner = namedKeys(schema)
    if (!inner) return undefined
    schema = unwrap(inner)
  }
  return schema
}

/** Schema of the keys with free names; undefined if a section has none. */
function namedKeys({ def: { catchall } }: z.ZodObject): z.core.$ZodType | undefined {
  return catchall instanceof z.ZodObject ? catchall : undefined
}

/** Unwraps defaults and optionals. */
function unwrap(schema: z.core.$ZodType): z.core.$ZodType {
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodExactOptional) return unwrap(schema.def.innerType)
  if (schema instanceof z.ZodPipe) return unwrap(schema.def.out)
  return schema
}
