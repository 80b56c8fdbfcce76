import { spawn } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { type AddressInfo, createServer, type ListenOptions } from 'node:net'
import { join } from 'node:path'
import type { CommandFolder } from './command-folder.ts'
import { canary, type Surroundings } from './escapes.ts'

/** What runs around a folder: servers that note who comes, and a process with secrets of its own. */
export interface Running extends Surroundings {
  /** Whoever came, since it was last emptied. */
  arrived: string[]
  /** Resolves once all that was sent before has arrived. */
  settled(): Promise<void>
  close(): void
}

const sign = 'nothing before this is missing'

export async function surroundingsOf(folder: CommandFolder, owner?: number): Promise<Running> {
  const arrived: string[] = []
  const listen = async (name: string, options: ListenOptions) => {
    const server = createServer((socket) => {
      arrived.push(name)
      socket.destroy()
    })
    server.listen(options)
    await once(server, 'listening')
    return server
  }
  const sockets = { path: join(folder.outside, 'socket'), abstract: `heddle-test-${process.pid}-${owner}` }
  const servers = [
    await listen('tcp', { host: '127.0.0.1', port: 0 }),
    await listen('tcp6', { host: '::1', port: 0 }),
    await listen('socket', { path: sockets.path, writableAll: true }),
    await listen('abstract', { path: `\0${sockets.abstract}` }),
  ]
  const [tcp = 0, tcp6 = 0] = servers.map((server) => (server.address() as AddressInfo).port)
  const udp = createSocket('udp4')
  udp.on('message', (message) => message.toString() === sign || arrived.push('udp'))
  udp.bind(0, '127.0.0.1')
  await once(udp, 'listening')
  const other = spawn('/bin/sleep', ['3600'], {
    argv0: `sleep-${canary}`,
    cwd: folder.outside,
    env: { SECRET: canary },
    stdio: 'ignore',
    ...(owner !== undefined && { uid: owner, gid: owner }),
  })
  await once(other, 'spawn')
  return {
    folder,
    ports: { tcp, tcp6, udp: udp.address().port },
    sockets,
    process: other.pid ?? 0,
    arrived,
    async settled() {
      const heard = new Promise<void>((resolve) => {
        udp.on('message', function hear(message) {
          if (message.toString() !== sign) return
          udp.off('message', hear)
          resolve()
        })
      })
      udp.send(sign, udp.address().port, '127.0.0.1')
      await heard
    },
    close() {
      other.kill('SIGKILL')
      udp.close()
      for (const server of servers) server.close()
    },
  }
}
