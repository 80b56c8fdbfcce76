import { appendFileSync, existsSync, readFileSync } from 'node:fs'

const file = process.env.NOTES ?? 'notes.txt'

export function add(note) {
  appendFileSync(file, `${note}\n`)
}

export function list() {
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : []
}
