import { z } from 'zod'
import { HeddleError } from '../../domain/errors.ts'
import { idPattern } from '../../domain/id.ts'
import { integrities } from '../../domain/label.ts'
import { lazy } from '../../domain/lazy.ts'
import { roles, sources } from '../../domain/message.ts'
import { modelSettings, type Persona, permissions, personaPattern } from '../../domain/persona.ts'
import { outcomes, type Run, runKinds, runOrigins, runStates, stepKinds } from '../../domain/run.ts'
import { type SessionKind, sessionKinds } from '../../domain/session.ts'
import { callStatuses, type ThreadConfig, type Turn, turnTypes } from '../../domain/turn.ts'

/** A turn with its run, steps, prompt and persona: one line of an export. */
export interface ExportedTurn {
  turn: Turn
  personaId: string | null
  /** The rest of its thread's configuration; the text of the prompt only with the first turn in the file that has it. */
  config?: Omit<ThreadConfig, 'personaId'> & { systemPrompt?: string }
  run: ExportedRun
  steps: { seq: number; kind: (typeof stepKinds)[number]; payload: unknown; at: number | null }[]
  /** System prompt of the turn; only with the first turn in the file that used it. */
  prompt: string | null
  persona: Persona | null
  /** Sessions whose head this is. Exports of earlier versions do not say their kind. */
  sessions: { folder: string; label: string; personaId: string | null; kind?: SessionKind }[]
}

/** Exported fields of a run; leaves out its owner and retries. */
export type ExportedRun = Pick<
  Run,
  | 'id'
  | 'kind'
  | 'via'
  | 'state'
  | 'sessionId'
  | 'rootRunId'
  | 'parentRunId'
  | 'depth'
  | 'agent'
  | 'createdAt'
  | 'finishedAt'
>

const depthLimit = 200

/** Reads one line of an export; says which line and which field is wrong. */
export function parseExported(line: string, number: number): ExportedTurn {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch (cause) {
    throw badLine(number, 'it is not JSON', cause)
  }
  if (isDeeperThan(value, depthLimit)) throw badLine(number, `it is nested deeper than ${depthLimit} levels`)
  const parsed = exportedTurn().safeParse(value)
  if (!parsed.success) {
    const [problem] = parsed.error.issues
    throw badLine(number, `${problem?.path.join('.') || 'the line'}: ${problem?.message ?? 'not an exported turn'}`)
  }
  const item = parsed.data as ExportedTurn
  if (item.turn.id !== item.turn.responseMessage.id) throw badLine(number, 'turn.id is not the id of its response')
  if (item.turn.runId !== item.run.id) throw badLine(number, 'turn.runId is not the id of its run')
  return item
}

const exportedTurn = lazy(() => {
  // PostgreSQL text columns cannot hold NUL; inside messages it is escaped.
  const plain = z.string().refine((text) => !text.includes('\0'), 'holds a NUL character')
  const id = z.string().regex(idPattern, 'not an id of 20 characters')
  const time = z.int().nonnegative()
  const count = z.int().nonnegative()
  const amount = z.number().nonnegative()
  const label = z.strictObject({ integrity: z.enum(integrities), sources: z.array(z.string()) })
  const thinking = z.strictObject({ level: z.enum(['off', 'low', 'medium', 'high']) })
  const part = z.union([
    z.strictObject({
      type: z.literal('image'),
      path: z.string().exactOptional(),
      mediaType: z.string(),
      data: z.string(),
    }),
    z.strictObject({ type: z.literal('file'), path: z.string(), mediaType: z.string(), data: z.string() }),
  ])

  const message = z.strictObject({
    id,
    parentId: id.optional(),
    role: z.enum(roles),
    source: z.enum(sources).optional(),
    content: z.string(),
    parts: z.array(part).optional(),
    timestamp: time,
    label: label.optional(),
    outerRef: z.string().optional(),
    model: z.string().optional(),
    thinkingConfig: thinking.optional(),
    toolCallId: z.string().optional(),
  })

  return z.strictObject({
    turn: z.strictObject({
      id,
      parentTurnId: id.nullable(),
      type: z.enum(turnTypes),
      status: z.enum(outcomes),
      queryMessages: z.array(message),
      responseMessage: message,
      model: z.strictObject({ requested: plain.nullable(), actual: plain.nullable() }),
      thinkingConfig: thinking.nullable(),
      // Exports of earlier versions do not have it.
      settings: z
        .strictObject({
          ...modelSettings().omit({ thinking: true }).shape,
          permissions: z.array(z.looseObject({})).exactOptional(),
        })
        .nullable()
        .default(null),
      toolCalls: z.array(
        z.strictObject({ id: z.string(), name: z.string(), status: z.enum(callStatuses), begun: count, ended: count }),
      ),
      tokenCount: count,
      usage: z.strictObject({
        inputTokens: count,
        outputTokens: count,
        cachedTokens: count,
        costUsd: amount,
        estimatedInputTokens: count.exactOptional(),
        estimatedOutputTokens: count.exactOptional(),
        estimatedUsd: amount.exactOptional(),
        lostInputTokens: count.exactOptional(),
        lostOutputTokens: count.exactOptional(),
        lostUsd: amount.exactOptional(),
      }),
      compaction: z.strictObject({ fromDepth: count, toDepth: count }).nullable(),
      promptHash: plain.nullable(),
      label,
      runId: id,
      timestamp: time,
    }),
    personaId: plain.nullable(),
    config: z
      .strictObject({
        systemPromptHash: plain.nullable(),
        boundBy: z.array(z.string().regex(personaPattern)),
        systemPrompt: plain.exactOptional(),
      })
      .exactOptional(),
    run: z.strictObject({
      id,
      kind: z.enum(runKinds),
      via: z.enum(runOrigins),
      state: z.enum(runStates),
      sessionId: id.nullable(),
      rootRunId: id,
      parentRunId: id.nullable(),
      depth: count,
      agent: plain.nullable(),
      createdAt: time,
      finishedAt: time.nullable(),
    }),
    steps: z.array(
      z.strictObject({
        seq: z.int().positive(),
        kind: z.enum(stepKinds),
        payload: z.unknown(),
        at: z.int().nullable().default(null),
      }),
    ),
    prompt: plain.nullable(),
    persona: z
      .looseObject({ id: z.string().regex(personaPattern), identity: z.looseObject({}), permissions: permissions() })
      .nullable(),
    sessions: z.array(
      z.strictObject({
        folder: plain,
        label: plain,
        personaId: plain.nullable(),
        kind: z.enum(sessionKinds).exactOptional(),
      }),
    ),
  })
})

// JSON.stringify overflows the stack at depths that JSON.parse still accepts.
function isDeeperThan(value: unknown, limit: number): boolean {
  let level: unknown[] = [value]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > limit) return true
    level = level.flatMap((item) => (item !== null && typeof item === 'object' ? Object.values(item) : []))
  }
  return false
}

function badLine(number: number, why: string, cause?: unknown): HeddleError {
  return new HeddleError(
    'bad_import',
    `line ${number} is not an exported turn: ${why}`,
    'import a file that `heddle export` wrote; the lines before this one were imported',
    { cause },
  )
}
