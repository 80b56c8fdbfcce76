import { EventEmitter } from 'node:events'

/** The signals of a command that somebody interrupts as soon as it listens to them. */
export class InterruptedSignals extends EventEmitter {
  constructor() {
    super()
    this.on('newListener', (signal) => {
      if (signal === 'SIGINT') setImmediate(() => this.emit('SIGINT'))
    })
  }
}
