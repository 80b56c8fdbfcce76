import { readdir, readFile, stat } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { extname, join } from 'node:path'
import { packageRoot } from '../../package-root.ts'

/** Folder of the page that `npm run build` makes. */
export const builtPage: string = join(packageRoot, 'dist', 'web')

const types = new Map([
  ['.html', 'text/html; charset=utf-8'],
  ['.js', 'text/javascript; charset=utf-8'],
  ['.css', 'text/css; charset=utf-8'],
  ['.json', 'application/json'],
  ['.webmanifest', 'application/manifest+json'],
  ['.svg', 'image/svg+xml'],
  ['.png', 'image/png'],
  ['.ico', 'image/x-icon'],
  ['.woff2', 'font/woff2'],
  ['.txt', 'text/plain; charset=utf-8'],
])

/** Compressed forms that the build writes beside a file, the smallest first. */
const encodings = [
  { name: 'br', ending: '.br' },
  { name: 'gzip', ending: '.gz' },
]

/** The form of names in the built page: no hidden files, nothing above the folder. */
const fileForm = /^\/(?:assets\/)?[A-Za-z0-9_][A-Za-z0-9_.-]*$/
const hashedForm = /^\/assets\/.+-[A-Za-z0-9_-]{8}\.[a-z0-9]+$/

/** Said above a page that a checkout has built before its sources were changed last. */
const outdated = `<body>
    <aside class="outdated">This page is older than its sources in <code>web/</code>. In the checkout of heddle, run <code>npm run build:web</code>, then reload.</aside>`

const notBuilt = `<!doctype html><html lang="en"><meta charset="utf-8"><title>heddle</title>
<h1>The page is not built yet</h1><p>In the checkout of heddle, run <code>npm run build:web</code>, then reload.</p></html>
`

/** Sends a file of the built page or, for every other path, the page itself, which knows its own addresses. */
export async function sendPage(
  { method, headers }: IncomingMessage,
  response: ServerResponse,
  { folder, path }: { folder: string; path: string },
): Promise<void> {
  const file = fileForm.test(path) && types.has(extname(path)) ? await openedFile(folder, path, headers) : undefined
  if (!file && path.startsWith('/assets/')) return send(response, 404, 'there is no such file; reload the page\n')
  const sent = file ?? (await openedFile(folder, '/index.html', headers))
  if (!sent) {
    response.setHeader('content-type', 'text/html; charset=utf-8')
    return send(response, 503, notBuilt)
  }
  if (sent.path === '/index.html' && (await isOutdated(folder))) {
    const page = await readFile(join(folder, sent.path), 'utf8')
    response.setHeader('content-type', sent.headers['content-type'])
    response.setHeader('cache-control', 'no-store')
    return send(response, 200, page.replace('<body>', outdated))
  }
  for (const [name, value] of Object.entries(sent.headers)) response.setHeader(name, value)
  if (headers['if-none-match'] === sent.headers.etag) return send(response, 304, '')
  response.setHeader('content-length', sent.size)
  send(response, 200, method === 'HEAD' ? '' : await readFile(sent.file))
}

async function openedFile(folder: string, path: string, headers: IncomingMessage['headers']) {
  const accepted = new Set(String(headers['accept-encoding'] ?? '').split(/\s*,\s*/))
  const plain = await fileStats(join(folder, path))
  if (!plain) return undefined
  const forms = encodings.filter(({ name }) => accepted.has(name))
  for (const { name, ending } of [...forms, { name: undefined, ending: '' }]) {
    const found = ending === '' ? plain : await fileStats(join(folder, `${path}${ending}`))
    if (!found) continue
    return {
      path,
      file: join(folder, `${path}${ending}`),
      size: found.size,
      headers: {
        'content-type': types.get(extname(path)) ?? 'application/octet-stream',
        'cache-control': hashedForm.test(path) ? 'public, max-age=31536000, immutable' : 'no-cache',
        etag: `"${plain.size.toString(36)}-${Math.round(plain.mtimeMs).toString(36)}${ending}"`,
        vary: 'accept-encoding',
        ...(name !== undefined && { 'content-encoding': name }),
      },
    }
  }
  return undefined
}

/** Whether the sources of a page, which only a checkout has, were changed after it was built. */
async function isOutdated(folder: string): Promise<boolean> {
  const sources = join(folder, '../../web')
  const names = await readdir(join(sources, 'src'), { recursive: true }).catch(() => undefined)
  if (!names) return false
  const words = '../src/api/words'
  const shared = await readdir(join(sources, words)).catch(() => [])
  const files = [
    ...['index.html', 'vite.config.ts', 'public', 'src', ...names.map((name) => join('src', name))],
    ...[words, ...shared.map((name) => join(words, name))],
  ]
  const found = await Promise.all(files.map((name) => stat(join(sources, name)).catch(() => undefined)))
  const built = await stat(join(folder, 'index.html'))
  return found.some((source) => source !== undefined && source.mtimeMs > built.mtimeMs)
}

async function fileStats(file: string) {
  const found = await stat(file).catch(() => undefined)
  return found?.isFile() ? found : undefined
}

function send(response: ServerResponse, status: number, body: string | Buffer): void {
  response.statusCode = status
  response.end(body)
}
