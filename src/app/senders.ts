import { realpath, rename, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import type { Config } from '../config/config.ts'
import { UsageError } from '../domain/errors.ts'
import type { DeliveryTarget } from '../domain/jobs/job.ts'
import type { OutboxMessage } from '../domain/jobs/outbox.ts'
import { type Senders, type SendFailure, sendTimeout } from '../engine/jobs/send.ts'
import { postWebhook, webhookKey } from '../tools/fetch/post-webhook.ts'
import { type NotifyContext, startNotifyProgram } from './notify-program.ts'

const maxNotice = 200

/** Senders to the places that the owner configured, and the check of a target before a job is saved. */
export interface JobSenders extends Senders {
  /** The target as it is stored; throws if nothing could be sent there. */
  check(target: DeliveryTarget, folder: string): Promise<DeliveryTarget>
}

export function jobSenders(
  { notify, webhooks }: Pick<Config, 'webhooks'> & Partial<Pick<Config, 'notify'>>,
  context: NotifyContext,
): JobSenders {
  return {
    async check(target, folder) {
      if (target.kind === 'notify' && notify?.command === undefined)
        throw noTarget('there is no notify.command', 'set it: heddle config set notify.command /path/of/program')
      if (target.kind === 'webhook') checkWebhook(webhooks, target.to)
      return target.kind === 'file' ? { ...target, to: await fileIn(folder, target.to) } : target
    },
    async notify({ title, content }) {
      if (notify?.command === undefined) return { error: 'there is no notify.command', isFinal: true }
      const text = `heddle: ${title} ${content}`.replace(/\s+/g, ' ')
      const error = await startNotifyProgram(context, notify.command, text.slice(0, maxNotice))
      return error === undefined ? undefined : { error }
    },
    file: (message) => writeWhole(message).catch((error) => ({ error: (error as Error).message })),
    async webhook(message, stopping) {
      const hook = Object.hasOwn(webhooks, message.to) ? webhooks[message.to] : undefined
      if (!hook) return { error: `there is no webhook ${message.to} in the configuration`, isFinal: true }
      const body = webhookBody(message)
      const request = { url: hook.url, id: `msg_${message.id}`, body, timeoutMs: sendTimeout, stopping }
      const answer = await postWebhook({ ...request, secret: hook.secret.reveal() }, context.clock).catch((error) => ({
        error: (error as Error).message,
      }))
      if ('error' in answer) return { error: answer.error }
      return statusFailure(answer)
    },
  }
}

/** A status of 2xx is a yes; what the receiver will never take is not tried again. */
function statusFailure({ status, retryAfter }: { status: number; retryAfter?: number }): SendFailure | undefined {
  if (status >= 200 && status < 300) return undefined
  const isFinal = status >= 400 && status < 500 && ![408, 409, 425, 429].includes(status)
  return {
    error: `it answered with status ${status}`,
    ...(isFinal && { isFinal }),
    ...(retryAfter !== undefined && { retryAfter }),
  }
}

function webhookBody({ title, content, jobId, runId, createdAt, label }: OutboxMessage): string {
  const data = { job: jobId, run: runId, title, text: content, trusted: label.integrity === 'trusted' }
  return JSON.stringify({ type: 'job.ended', timestamp: new Date(createdAt).toISOString(), data })
}

function checkWebhook(webhooks: Config['webhooks'], name: string): void {
  const hook = Object.hasOwn(webhooks, name) ? webhooks[name] : undefined
  if (!hook)
    throw noTarget(
      `there is no webhook "${name}"`,
      `add it to heddle.yaml: webhooks: { ${name}: { url: …, secret: … } }`,
    )
  if (!webhookKey(hook.secret.reveal()))
    throw noTarget(
      `the secret of webhook "${name}" is not valid`,
      'use whsec_ and at least 24 bytes in base64: echo whsec_$(openssl rand -base64 32)',
    )
}

/** The real path of a file. Its folder must exist: what lies there later, such as a link, cannot lead elsewhere. */
async function fileIn(folder: string, path: string): Promise<string> {
  const file = resolve(folder, path)
  const real = await realpath(dirname(file)).catch(() => undefined)
  if (real === undefined) throw noTarget(`there is no folder ${dirname(file)}`, 'create it first')
  return join(real, basename(file))
}

/** Replaces the file as a whole, so that writing it twice leaves the same as writing it once. */
async function writeWhole({ to, content, title, id }: OutboxMessage): Promise<SendFailure | undefined> {
  if ((await realpath(dirname(to))) !== dirname(to))
    return { error: `${dirname(to)} points somewhere else than when the job was created`, isFinal: true }
  const draft = `${to}.${id}.tmp`
  try {
    await writeFile(draft, `${content === '' ? title : content}\n`, { flag: 'wx', mode: 0o600 })
    await rename(draft, to)
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
  return undefined
}

function noTarget(message: string, remedy: string): UsageError {
  return new UsageError(message, remedy, 'bad_delivery')
}
