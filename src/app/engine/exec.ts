import type { Config } from '../../config/config.ts'
import type { Clock } from '../../domain/clock.ts'
import { isAllowed } from '../../domain/tools/permission.ts'
import type { Tool } from '../../domain/tools/tool.ts'
import type { Engine } from '../../engine/runtime.ts'
import { execTool } from '../../tools/exec/sandbox/exec-tool.ts'

interface ExecSettings extends Pick<Engine, 'crash'> {
  config: Pick<Config, 'tools' | 'credentials'>
  clock: Clock
  env: NodeJS.ProcessEnv
  guardRecords: string | undefined
  sandboxProof: string | undefined
  tell: ((text: string) => void) | undefined
}

/** Adds exec if the sandbox works or is turned off, unless the program gave a tool of that name. */
export async function addExec(
  tools: Map<string, Tool>,
  { config, clock, env, crash, guardRecords, sandboxProof, tell }: ExecSettings,
): Promise<void> {
  if (tools.has('exec') || !isAllowed('exec', config.tools)) return
  const found = await execTool(config.tools.exec, {
    clock,
    env,
    credentials: Object.fromEntries(Object.entries(config.credentials).map(([name, key]) => [name, key.reveal()])),
    crash,
    ...(guardRecords !== undefined && { guardRecords }),
    ...(sandboxProof !== undefined && { sandboxProof }),
  })
  if (!('tool' in found)) return
  tools.set(found.tool.name, found.tool)
  for (const { folder, path, to } of found.leftBehind ?? [])
    tell?.(`an interrupted command left ${path} in ${folder}; renamed to ${to}    heddle git`)
}
