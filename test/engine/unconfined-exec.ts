import type { Tool } from '../../src/domain/tools/tool.ts'
import { systemClock } from '../../src/system.ts'
import { execTool } from '../../src/tools/exec/sandbox/exec-tool.ts'

/** The real tool for commands, without a sandbox: for tests of what commands leave behind. */
export async function unconfinedExec(): Promise<Tool> {
  const limits = { timeoutSeconds: 60, maxTimeoutSeconds: 60, memoryMB: 1024, processes: 200 }
  const found = await execTool({ sandbox: 'off', network: true, ...limits }, { clock: systemClock, env: process.env })
  if ('obstacle' in found) throw new Error(found.obstacle.why)
  return found.tool
}
