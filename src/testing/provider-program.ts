import { readFileSync } from 'node:fs'
import { findScript, followRules } from './provider-scripts.ts'
import { startProvider } from './provider-server.ts'

// A provider in a process of its own, so that it outlives the engine that a test kills:
// `node provider-program.ts <port or 0> <script's name or rules.json> [log.jsonl]` prints its URL as the first line.
const [port = '0', script = 'plain', log] = process.argv.slice(2)
const answerRequest = findScript(script) ?? followRules(JSON.parse(readFileSync(script, 'utf8')))
const provider = await startProvider({ answer: answerRequest, port: Number(port), ...(log !== undefined && { log }) })
process.stdout.write(`${provider.url}\n`)
// Ends with the parent process if that has an IPC channel to it.
process.on('disconnect', () => process.exit())
