import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    out: { type: 'string' },
    width: { type: 'string', default: '72' },
    'keep-blank': { type: 'boolean', default: false },
  },
})
const [file] = positionals
const width = Number(values.width)

if (file === undefined) fail('no file is named', 2)
if (!(width >= 20)) fail('--width must be 20 or more', 2)

const lines = readFileSync(file, 'utf8').split('\n')
const kept = values['keep-blank'] ? lines : lines.filter((line) => line.trim() !== '')
const text = `${kept.map((line) => line.trimEnd().slice(0, width)).join('\n')}\n`
// Without --out the file itself is replaced.
writeFileSync(values.out ?? file, text)
console.log(`${file}: ${lines.length} lines became ${kept.length}`)

function fail(why, code) {
  console.error(`shrink: ${why}`)
  process.exit(code)
}
