import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

// Draws docs/guide/screen.svg from what the program really prints. Run it after a screen has changed: npm run screen
const root = join(import.meta.dirname, '..')
const place = mkdtempSync(join(tmpdir(), 'heddle-screen-'))
const folder = join(place, 'shop')
mkdirSync(folder)

const shown: string[] = []
function heddle(...args: string[]): string {
  return execFileSync(process.execPath, [join(root, 'bin/heddle'), ...args], {
    cwd: folder,
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], HOME: place, HEDDLE_HOME: join(place, '.heddle') },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
}
function show(...args: string[]): void {
  shown.push(
    `$ heddle ${args.join(' ')}`,
    ...heddle(...args)
      .trimEnd()
      .split('\n'),
  )
}
const say = (label: string, user: string, assistant: string) =>
  heddle('append', '-s', label, '--user', user, '--assistant', assistant)

say('main', 'which port does the api use?', '8080, see src/server.ts:12')
const first = `turn:${JSON.parse(heddle('log', '--json')).turns[0].id.slice(-6)}`
say('main', 'and in production?', '443, behind the proxy')
show('fork', first, '--as', 'second-try')
say('second-try', 'what about ipv6?', 'not yet')
say('main', 'why does TLS end at the proxy?', 'one place for certificates')
show('log', '--all', '--graph')
show('diff', 'main', 'second-try')
rmSync(place, { recursive: true })

const [line, column, margin] = [20, 8.4, 16]
const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
const colour = (text: string) =>
  escaped(text)
    .replace(/turn:[0-9a-z]{6}/g, '<tspan fill="#e5c07b">$&</tspan>')
    .replace(/\([a-z-]+\)/g, '<tspan fill="#98c379">$&</tspan>')
    .replace(/^\$ .*/, '<tspan font-weight="bold">$&</tspan>')
const rows = shown.map(
  (text, row) =>
    `<text x="${margin}" y="${margin + line * (row + 0.8)}" style="white-space:pre">${colour(text)}</text>`,
)
const [width, height] = [80 * column + 2 * margin, shown.length * line + 2 * margin]
writeFileSync(
  join(root, 'docs/guide/screen.svg'),
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="monospace" font-size="14" fill="#dcdfe4">
<rect width="${width}" height="${height}" rx="8" fill="#282c34"/>
${rows.join('\n')}
</svg>
`,
)
