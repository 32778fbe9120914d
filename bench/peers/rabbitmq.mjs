// RabbitMQ: one quorum queue, persistent messages, publisher confirms. Acks are not confirmed (AMQP has
// no such thing); workers that take many prefetch them and ack all up to the last.
import amqp from 'amqplib';
import { main } from './load.mjs';

const NAME = 'bench';
const CONNECTIONS = 5;

let connections;
let producers;

async function declare(channel) {
  await channel.assertQueue(NAME, { durable: true, arguments: { 'x-queue-type': 'quorum' } });
}

await main({
  async open({ port, producers: count }) {
    const url = `amqp://guest:guest@127.0.0.1:${port}`;
    connections = await Promise.all(Array.from({ length: CONNECTIONS }, () => amqp.connect(url)));
    const first = await connections[0].createChannel();
    await declare(first);
    producers = await Promise.all(Array.from({ length: count },
      (_, i) => connections[i % CONNECTIONS].createConfirmChannel()));
  },

  put(producer, payloads) {
    const channel = producers[producer];
    return Promise.all(payloads.map((payload) => new Promise((resolve, reject) => {
      const body = Buffer.from(JSON.stringify(payload));
      channel.sendToQueue(NAME, body, { persistent: true }, (error) => (error ? reject(error) : resolve()));
    })));
  },

  async work({ concurrency, batch, started, finished }) {
    for (let i = 0; i < concurrency; i += 1) {
      const channel = await connections[i % CONNECTIONS].createChannel();
      const ackAfter = Math.max(1, Math.floor(batch / 10));
      let held = 0;
      let timer;
      let last;
      const ack = () => {
        clearTimeout(timer);
        timer = undefined;
        channel.ack(last, true);
        finished(held);
        held = 0;
      };
      await channel.prefetch(batch);
      await channel.consume(NAME, async (message) => {
        await started(JSON.parse(message.content.toString()));
        held += 1;
        last = message;
        if (held >= ackAfter) ack();
        else timer ??= setTimeout(ack, 20);
      });
    }
  },
});
