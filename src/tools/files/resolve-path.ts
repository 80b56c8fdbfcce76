import { z } from 'zod'
import type { Tool } from '../../domain/tools/tool.ts'
import { defineTool } from '../define-tool.ts'
import { shownName } from './shown-name.ts'

const input = () => z.strictObject({ path: z.string().describe('relative to the folder, or absolute') })

/** Resolves a path, and tells whether the file tools can reach it. */
export const resolvePath: Tool<z.output<ReturnType<typeof input>>> = defineTool(input, {
  name: 'resolve_path',
  description:
    'Returns the absolute path that a path leads to, what is there, and whether it is inside the folder: the other file ' +
    'tools reach nothing outside.',
  effect: 'pure',
  paths: ['path'],
  async run(_, call) {
    const handle = call.handle('path')
    const status = await handle.stat()
    if (status.kind === 'outside')
      return {
        status: 'ok',
        output: `${handle.shown} leads out of the folder ${shownName(call.folder)}: no tool reaches it`,
      }
    if (status.kind === 'missing')
      return {
        status: 'ok',
        output: `${handle.shown} is inside the folder ${shownName(call.folder)}, and nothing is there`,
      }
    const what = {
      file: `a file of ${status.bytes} bytes`,
      directory: 'a directory',
      other: 'a device, pipe or socket',
    }
    return { status: 'ok', output: `${shownName(status.path)} is ${what[status.kind]}, inside the folder` }
  },
})
