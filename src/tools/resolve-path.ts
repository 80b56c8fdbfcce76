import { z } from 'zod'
import type { Tool } from '../domain/tool.ts'
import { shownName } from './shown-name.ts'
import { parsedBy } from './tool-input.ts'

const input = z.strictObject({ path: z.string() })

/** Tells where a path leads, and whether the file tools reach it. */
export const resolvePath: Tool<z.output<typeof input>> = {
  name: 'resolve_path',
  description:
    'Tells the absolute path that a path leads to, what lies there, and whether it is inside the folder: the other file ' +
    'tools reach nothing outside.',
  inputSchema: {
    type: 'object',
    properties: { path: { type: 'string', description: 'from the folder on, or absolute' } },
    required: ['path'],
    additionalProperties: false,
  },
  effect: 'pure',
  paths: ['path'],
  parse: parsedBy(input),
  async run(_, call) {
    const handle = call.handle('path')
    const sight = await handle.look()
    if (sight.kind === 'outside')
      return {
        status: 'ok',
        output: `${handle.shown} leads out of the folder ${shownName(call.folder)}: no tool reaches it`,
      }
    if (sight.kind === 'missing')
      return {
        status: 'ok',
        output: `${handle.shown} is inside the folder ${shownName(call.folder)}, and nothing is there`,
      }
    const what = { file: `a file of ${sight.bytes} bytes`, directory: 'a directory', other: 'a device, pipe or socket' }
    return { status: 'ok', output: `${shownName(sight.path)} is ${what[sight.kind]}, inside the folder` }
  },
}
