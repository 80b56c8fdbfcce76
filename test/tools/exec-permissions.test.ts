import { createServer } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { type CommandFolder, commandFolder } from './command-folder.ts'

let folder: CommandFolder
afterEach(() => folder.remove())
const never = new AbortController().signal

describe('permissions only narrow what a command may do', () => {
  test('without the network it does not reach a server that others of the same configuration reach', async () => {
    folder = await commandFolder({ network: true })
    const server = createServer((socket) => socket.end('hello'))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as { port: number }
    const command = `exec 3<>/dev/tcp/127.0.0.1/${port} && cat <&3`
    const open = await folder.call({ command })
    const closed = await folder.call({ command }, never, { sandbox: { network: false } })
    server.close()
    expect(open).toMatchObject({ output: expect.stringContaining('hello'), label: { integrity: 'untrusted' } })
    expect(closed.output).toMatch(/Connection refused|unreachable/)
    // What never left the machine brought nothing in.
    expect(closed).not.toHaveProperty('label')
  })

  test('time, memory and processes are the least of both', async () => {
    folder = await commandFolder({ timeoutSeconds: 20 })
    const slow = await folder.call({ command: 'sleep 30' }, never, { sandbox: { timeoutSeconds: 1 } })
    expect(slow.output).toMatch(/\[killed: .*1 s/)
    const limits = 'ulimit -u; ulimit -d'
    const own = await folder.call({ command: limits }, never, { sandbox: { processes: 50, memoryMB: 100 } })
    expect(own.output).toBe(`50\n${2 * 100 * 1024}\n[exit 0]`)
    const more = await folder.call({ command: limits }, never, { sandbox: { processes: 5000, memoryMB: 100_000 } })
    expect(more.output).toBe(await folder.run(limits))
  })

  test('a limit that only the sandbox can keep refuses the command where the sandbox is off', async () => {
    folder = await commandFolder({ sandbox: 'off' })
    expect(await folder.call({ command: 'true' }, never, { sandbox: { network: false } })).toMatchObject({
      status: 'forbidden',
    })
    expect(await folder.call({ command: 'true' }, never, {})).toMatchObject({ status: 'ok' })
  })
})

describe('credentials', () => {
  const credentials = { DEPLOY_TOKEN: 'token-0123456789', OTHER: 'other-0123456789' }
  const length = (name: string) => `printf %s "$${name}" | wc -c`
  const command = `${length('DEPLOY_TOKEN')}; ${length('OTHER')}; echo "$DEPLOY_TOKEN"; echo "$PATH"`

  test.each(['on', 'off'] as const)('are seen by commands with the sandbox %s, and not printed', async (sandbox) => {
    folder = await commandFolder({ sandbox }, { credentials })
    expect(await folder.run(command)).toMatch(/^16\n16\n\[DEPLOY_TOKEN\]\n\//)
    const [one, none] = await Promise.all([
      folder.call({ command }, never, { credentials: ['OTHER', 'PATH'] }),
      folder.call({ command }, never, { credentials: [] }),
    ])
    expect(one.output).toMatch(/^0\n16\n\n\//)
    expect(none.output).toMatch(/^0\n0\n\n\//)
  })

  test('that are not configured do not reach a command, whatever its permissions name', async () => {
    folder = await commandFolder({}, { env: { ...process.env, DEPLOY_TOKEN: 'secret' } })
    expect((await folder.call({ command }, never, { credentials: ['DEPLOY_TOKEN'] })).output).toMatch(/^0\n0\n/)
  })
})
