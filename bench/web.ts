import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Figure } from './figures.ts'
import type { Scratch } from './scratch.ts'
import { webServer } from './web-server.ts'

const program = join(import.meta.dirname, 'programs', 'web-page.ts')

/** The gateway, and the page in a browser. */
export async function web(scratch: Scratch): Promise<Figure[]> {
  const server = await webServer(scratch)
  scratch.say('the page in a browser, over ten thousand turns')
  const { stdout } = await promisify(execFile)(process.execPath, [program], { maxBuffer: 10 * 1024 * 1024 })
  return [...server, ...JSON.parse(stdout)]
}
