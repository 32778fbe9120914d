// Stands before the server and counts streams of events: a shared worker's requests are no page's, so that
// the browser's tools do not show them.
import { createServer, request } from 'node:http'

export class Proxy {
  open = 0
  begun = 0
  most = 0
  /** The place each stream was asked to go on from. */
  places = []

  static async before(url) {
    const proxy = new Proxy()
    proxy.server = createServer((from, to) => proxy.#pass(new URL(from.url, url), from, to))
    await new Promise((done) => proxy.server.listen(0, '127.0.0.1', done))
    proxy.url = `http://127.0.0.1:${proxy.server.address().port}`
    return proxy
  }
  #pass(url, from, to) {
    const stream = url.pathname === '/api/v1/events'
    if (stream) {
      this.begun++
      this.most = Math.max(this.most, ++this.open)
      this.places.push(from.headers['last-event-id'] ?? '')
      to.on('close', () => this.open--)
    }
    const headers = { ...from.headers, host: url.host }
    // The server refuses changes by pages of other origins, and this is one.
    if (headers.origin) headers.origin = url.origin
    const on = request(url, { method: from.method, headers }, (answer) => {
      to.writeHead(answer.statusCode, answer.headers)
      answer.pipe(to)
    })
    on.on('error', () => to.destroy())
    to.on('close', () => on.destroy())
    from.pipe(on)
  }
  end() {
    this.server.closeAllConnections()
    this.server.close()
  }
}
