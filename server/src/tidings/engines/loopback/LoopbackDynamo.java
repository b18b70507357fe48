import java.lang.reflect.Field;
import org.eclipse.jetty.server.Connector;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import software.amazon.dynamodb.services.local.main.ServerRunner;
import software.amazon.dynamodb.services.local.server.DynamoDBProxyServer;

/**
 * Start DynamoDB Local on 127.0.0.1 alone. It has no option for that: it listens on all interfaces, without a password.
 *
 * <p>The class beside this file is made by `javac --release 17 -cp JARS LoopbackDynamo.java`, where JARS are those of
 * dynamodb-local.lock; the Java runtime that runs it has no compiler. It fails rather than listen elsewhere.
 */
public final class LoopbackDynamo {
  public static void main(String[] arguments) {
    try {
      DynamoDBProxyServer proxy = ServerRunner.createServerFromCommandLineArgs(arguments);
      Field field = DynamoDBProxyServer.class.getDeclaredField("server");
      field.setAccessible(true);
      for (Connector connector : ((Server) field.get(proxy)).getConnectors()) {
        ((ServerConnector) connector).setHost("127.0.0.1");
      }
      proxy.safeStart();
      proxy.join();
    } catch (Throwable failure) {
      failure.printStackTrace();
      System.exit(1);
    }
  }
}
