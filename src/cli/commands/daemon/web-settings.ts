import { readFile } from 'node:fs/promises'
import type { SignInLink } from '../../../api/access.ts'
import type { Config } from '../../../config/config.ts'
import { HeddleError, UsageError } from '../../../domain/errors.ts'
import type { WebSettings } from '../../../gateway/web/web-server.ts'

const defaultPort = 7433

/** Where a daemon serves its page, as the configuration and the command line say; undefined for nowhere. */
export async function webSettings(
  { http }: Pick<Config, 'http'>,
  options: Record<string, unknown>,
): Promise<Omit<WebSettings, 'home'> | undefined> {
  const { enabled, tls, port, ...rest } = http
  if (!enabled || options['http'] === false) return undefined
  const asked = options['port'] === undefined ? port : portFrom(String(options['port']))
  return {
    ...rest,
    port: asked ?? defaultPort,
    allowOtherPort: asked === undefined,
    ...(tls && {
      tls: { cert: await readPem('http.tls.cert', tls.cert), key: await readPem('http.tls.key', tls.key) },
    }),
  }
}

/**
 * The address that signs a browser in, and shows this folder first. The code is behind a #: browsers send that to no
 * server, and no log has it.
 */
export function signInUrl(url: string, { code }: SignInLink, folder?: string): string {
  return `${url}/welcome${folder === undefined ? '' : `?in=${encodeURIComponent(folder)}`}#${code}`
}

function portFrom(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) < 65_536) return Number(text)
  throw new UsageError(`"${text}" is not a port`, 'use a number from 1 to 65535, or 0 for any free one')
}

async function readPem(key: string, file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    throw new HeddleError('tls_unreadable', `cannot read ${file}`, `set ${key} in heddle.yaml to a readable PEM file`, {
      cause: error,
    })
  }
}
