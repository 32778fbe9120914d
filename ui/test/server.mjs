// The server under test: the binary with a data folder of its own, or the mock.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const freePort = (wanted = 0) =>
  new Promise((done, fail) => {
    const probe = createServer()
      .on('error', fail)
      .listen(wanted, '127.0.0.1', () => {
        const { port } = probe.address()
        probe.close(() => done(port))
      })
  })
/** One that the kernel gives to nobody while its server is down. */
export async function stablePort() {
  for (;;) {
    try {
      return await freePort(28_000 + Math.floor(Math.random() * 1000))
    } catch {
      // Taken: another one.
    }
  }
}

export class Server {
  static async start(options) {
    const server = new Server(options, options.port ?? (await freePort()))
    await server.up()
    return server
  }
  constructor({ binary, mock, flags = [] }, port) {
    this.port = port
    this.url = `http://127.0.0.1:${port}`
    this.data = mock ? null : mkdtempSync(join(tmpdir(), 'jobbie-ui-'))
    this.command = mock ? [process.execPath, fileURLToPath(new URL('../dev/mock.mjs', import.meta.url)), '--port', String(port)] : [binary, 'server', '--data-dir', this.data, '--http', `127.0.0.1:${port}`, '--webhook-allow', '127.0.0.1', ...flags]
  }
  async up() {
    this.errors = ''
    this.process = spawn(this.command[0], this.command.slice(1), { stdio: ['ignore', 'ignore', 'pipe'] })
    this.process.stderr.on('data', (part) => (this.errors = (this.errors + part).slice(-4000)))
    this.ended = new Promise((done) => this.process.on('exit', done))
    const deadline = Date.now() + 20_000
    for (;;) {
      try {
        if ((await fetch(`${this.url}/healthz`)).ok) return
      } catch {
        // Not yet.
      }
      if (this.process.exitCode !== null || Date.now() > deadline) throw new Error(`the server did not start: ${this.errors}`)
      await new Promise((done) => setTimeout(done, 50))
    }
  }
  async kill() {
    this.process.kill('SIGKILL')
    await this.ended
  }
  async down() {
    this.process.kill('SIGTERM')
    const late = setTimeout(() => this.process.kill('SIGKILL'), 12_000)
    await this.ended
    clearTimeout(late)
  }
  async end() {
    await this.down()
    if (this.data) rmSync(this.data, { recursive: true, force: true })
  }
}
