import { cpSync, existsSync, mkdirSync, mkdtempSync, renameSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { buildWeb, keptPage } from './web.ts'

// After `npm install` in a checkout, so that the first `heddle open` shows the page. Packing builds it with all else.
if (!['pack', 'publish'].includes(process.env['npm_command'] ?? '')) {
  const page = join(import.meta.dirname, '../dist/web')
  await buildWeb(page)
  if ([undefined, 'production'].includes(process.env['NODE_ENV'])) keep(page, keptPage())
}

/** Filled under another name, so that a folder of this name is always whole. */
function keep(page: string, place: string): void {
  if (existsSync(place)) return
  mkdirSync(dirname(place), { recursive: true })
  const copy = mkdtempSync(`${place}-`)
  cpSync(page, copy, { recursive: true })
  renameSync(copy, place)
}
