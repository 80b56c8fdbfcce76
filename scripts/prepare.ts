import { join } from 'node:path'
import { buildWeb } from './web.ts'

// After `npm install` in a checkout, so that the first `heddle open` shows the page. Packing builds it with all else.
if (!['pack', 'publish'].includes(process.env['npm_command'] ?? ''))
  await buildWeb(join(import.meta.dirname, '../dist/web'))
